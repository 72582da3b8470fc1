// Merging sorted inputs, line by line.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "keys/line_stream.hpp"
#include "keys/text_output.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

// A line beside its key, as LineStream has them.
struct KeyedLine {
  std::span<const std::byte> key;
  std::span<const std::byte> line;
};

// < 0, 0, > 0 as `a` comes before, is equal to, comes after `b`.
int compare_lines(const KeyedLine& a, const KeyedLine& b, const KeyOrder& order) noexcept;

// Which lines are written: with `unique` the first of those with equal keys.
struct Wanted {
  bool unique = false;
  std::uint64_t most_lines = UINT64_MAX;
  std::uint64_t most_bytes = UINT64_MAX;  // the last line may go beyond
};

// Writes the lines of all streams in order; equal ones in the order of the streams. Each stream then is at
// its first line that was neither written nor left out. Returns the lines written.
std::uint64_t merge_lines(std::vector<LineStream>& streams, const KeyOrder& order, const Wanted& wanted,
                          TextOutput& output, const Progress* progress);

}  // namespace sortcore
