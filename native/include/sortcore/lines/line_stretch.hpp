// Text read in stretches of bytes, which cut lines in two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace sortcore {

// The lines of a text that belong to a stretch of it: those that begin after its first byte, up to the byte
// after its last. The stretch at the text's beginning has the first line too. So every line belongs to one
// stretch, which finds the line's beginning without the bytes before.
struct LineStretch {
  std::uint64_t offset;  // in the text
  std::size_t bytes;

  // The position within `window`, which begins with the stretch, of the stretch's first line; nothing if it
  // has none.
  std::optional<std::size_t> first_line(std::span<const std::byte> window) const noexcept;
  // The end of the stretch's lines, after the newline of the last, searched from byte `from` on; nothing if
  // `window` ends before.
  std::optional<std::size_t> lines_end(std::span<const std::byte> window, std::size_t from) const noexcept;
};

}  // namespace sortcore
