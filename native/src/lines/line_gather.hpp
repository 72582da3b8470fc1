// Copying lines out in a given order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sortcore/lines/line_format.hpp"

namespace sortcore {

// Places of the lines of a text, as in LineIndex.
struct LinePlaces {
  const std::byte* base;
  const std::uint64_t* starts;
  std::uint64_t extent;  // the first byte that must not be read
  std::byte line_end = newline;
  std::uint64_t end_bytes = 1;  // 0: lines are records without line ends

  // Size of a line with its newline, which the text may lack.
  std::uint64_t bytes(std::uint32_t line) const noexcept { return starts[line + 1] - starts[line]; }
};

// Copies the lines of `order`, less the first `skipped` bytes of them all, to `out` until either ends.
// Returns the bytes copied.
std::size_t gather_lines(const LinePlaces& lines, std::span<const std::uint32_t> order, std::uint64_t skipped,
                         std::span<std::byte> out);

}  // namespace sortcore
