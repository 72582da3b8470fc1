// Lines like those of server logs: of mixed length, many with a common beginning, in no order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sortcore/progress.hpp"

namespace sortcore {

// Text is generated in blocks of this size, each determined by its number and the seed alone.
inline constexpr std::size_t generated_text_block_bytes = 4'096'000;

// Fills `out` with whole lines; the last is cut to fit and ends with a newline too.
void generate_lines(std::uint64_t seed, std::uint64_t block, std::span<std::byte> out);

// Writes `bytes` of lines to `path`; an existing file is replaced only when all is written, and only if
// `replaces`; one progress phase, counted in bytes. Throws Error(io) naming path and offset; then, and on
// cancellation, nothing remains. Returns the number of lines.
std::uint64_t generate_lines_file(const std::string& path, std::uint64_t bytes, std::uint64_t seed,
                                  unsigned threads = 0, Progress* progress = nullptr, bool replaces = true);

}  // namespace sortcore
