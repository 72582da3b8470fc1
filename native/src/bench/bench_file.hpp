// Files that benchmarks read and write: without a name, so that they vanish with the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sortcore/io/file.hpp"

namespace sortcore {

// Creates a file in `directory` and takes its name away. Throws Error(io) naming the directory.
File create_nameless(const std::string& directory, File::Caching wanted);

// Drops the file's pages from the page cache, as far as the system does it.
void forget_cached(const File& file) noexcept;

// Fills a block with generated records that occur nowhere else in a file (storage may compress or
// deduplicate).
void fill_with_records(std::byte* block, std::size_t bytes, std::uint64_t file_offset);

}  // namespace sortcore
