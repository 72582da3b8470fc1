// Loading and storing integers at unaligned addresses in a stated byte order.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sortcore {

// Wide loads may include a few bytes after their data, which are masked out or overwritten. Another thread
// may be writing those, for example the next chunk of memory. The thread sanitizer cannot know that they do
// not count.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool may_read_beyond = false;
#else
inline constexpr bool may_read_beyond = true;
#endif

inline std::uint64_t swap_bytes(std::uint64_t value) { return __builtin_bswap64(value); }

inline std::uint64_t load_big_endian(const std::byte* from) {
  std::uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::little ? swap_bytes(value) : value;
}

inline void store_big_endian(std::byte* to, std::uint64_t value) {
  if constexpr (std::endian::native == std::endian::little) value = swap_bytes(value);
  std::memcpy(to, &value, sizeof value);
}

// The first `count` (at most 8) bytes as the high bytes of an integer; the low ones are zero.
inline std::uint64_t load_big_endian(const std::byte* from, std::size_t count) {
  std::byte padded[8] = {};
  std::memcpy(padded, from, count < 8 ? count : 8);
  return load_big_endian(padded);
}

}  // namespace sortcore
