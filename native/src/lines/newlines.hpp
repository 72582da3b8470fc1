// Finding the ends of lines, many bytes at a time, by the best instructions of this CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sortcore {

std::uint64_t count_newlines(std::span<const std::byte> text) noexcept;

// Writes `offset` + the position behind each newline of `text` to `starts`, ascending. Returns false unless
// the newlines are as many as `starts` has room for: a mapped file may change after they were counted.
bool list_line_starts(std::span<const std::byte> text, std::uint64_t offset,
                      std::span<std::uint64_t> starts) noexcept;

}  // namespace sortcore
