// Contents and caching of the files that benchmarks read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sortcore/io/file.hpp"

namespace sortcore {

// Drops the file's pages from the page cache, as far as the system allows.
void forget_cached(const File& file) noexcept;

// Fills a block with generated records that occur nowhere else in a file (storage may compress or
// deduplicate).
void fill_with_records(std::byte* block, std::size_t bytes, std::uint64_t file_offset);

}  // namespace sortcore
