// Newline-terminated text, compared as bytes: by whole lines, or by a byte range of each.
//
// A line is any bytes but '\n'; NUL, '\r' and invalid UTF-8 are ordinary bytes. A last line without a newline
// counts as one with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace sortcore {

inline constexpr std::byte newline{'\n'};

// The key is the line's bytes from `key_offset` on, at most `key_bytes` of them and never the newline: empty
// if the line ends before. Keys compare as unsigned bytes; a key that is a prefix of another comes first.
struct LineFormat {
  static constexpr std::uint64_t to_the_end = UINT64_MAX;

  std::uint64_t key_offset = 0;
  std::uint64_t key_bytes = to_the_end;

  // Throws Error(bad_input) for a key of no bytes.
  void check() const;

  // `line` comes without its newline.
  std::span<const std::byte> key_of(std::span<const std::byte> line) const noexcept {
    const std::size_t offset = std::min<std::uint64_t>(key_offset, line.size());
    return line.subspan(offset, std::min<std::uint64_t>(key_bytes, line.size() - offset));
  }

  friend bool operator==(const LineFormat&, const LineFormat&) = default;
};

// < 0, 0, > 0 as `a` comes before, is equal to, comes after `b`.
inline int compare_bytes(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  const std::size_t common = std::min(a.size(), b.size());
  const int order = common == 0 ? 0 : std::memcmp(a.data(), b.data(), common);
  if (order != 0 || a.size() == b.size()) return order;
  return a.size() < b.size() ? -1 : 1;
}

}  // namespace sortcore
