// Finding line ends, many bytes at a time, by the best instructions of this CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sortcore/lines/line_format.hpp"

namespace sortcore {

// Takes the first line off `text`, which must not be empty, with its newline, and returns it without. A last
// line may lack its newline.
inline std::span<const std::byte> take_line(std::span<const std::byte>& text,
                                            std::byte line_end = newline) noexcept {
  const void* end = std::memchr(text.data(), static_cast<int>(line_end), text.size());
  const auto bytes = end == nullptr
                         ? text.size()
                         : static_cast<std::size_t>(static_cast<const std::byte*>(end) - text.data());
  const auto line = text.first(bytes);
  text = text.subspan(end == nullptr ? bytes : bytes + 1);
  return line;
}

// Lines may end with another byte than a newline.
std::uint64_t count_newlines(std::span<const std::byte> text, std::byte line_end = newline) noexcept;

// Writes `offset` + the position after each newline of `text` to `starts`, ascending. Returns false unless
// the newlines are exactly as many as `starts` has room for: a mapped file may change after they were
// counted.
bool list_line_starts(std::span<const std::byte> text, std::uint64_t offset, std::span<std::uint64_t> starts,
                      std::byte line_end = newline) noexcept;

}  // namespace sortcore
