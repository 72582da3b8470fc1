// Text read in stretches of bytes, which cut lines in two.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace sortcore {

// Which lines of a text belong to a stretch of it: those that begin behind its first byte, up to the byte
// behind its last. The stretch at the text's beginning has the first line too. So every line belongs to one
// stretch, which sees where the line begins without a look at what is before.
struct LineStretch {
  std::uint64_t offset;  // in the text
  std::size_t bytes;

  // Where the stretch's lines begin within `window`, which begins with it; nothing if it has none.
  std::optional<std::size_t> first_line(std::span<const std::byte> window) const noexcept;
  // Where they end, behind the newline of the last, searching from byte `from` on; nothing if `window` ends
  // before.
  std::optional<std::size_t> lines_end(std::span<const std::byte> window, std::size_t from) const noexcept;
};

// Throws Error(bad_record) that names the file, where in it the line begins, and the limit.
[[noreturn]] void throw_line_too_long(const std::string& path, std::uint64_t offset,
                                      std::size_t longest_bytes);

}  // namespace sortcore
