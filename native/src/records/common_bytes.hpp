// The length of the common beginning of two stretches of bytes.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "bytes.hpp"

namespace sortcore {

// Number of leading bytes, at most `most`, that `a` and `b` have in common.
inline std::uint64_t count_common_bytes(const std::byte* a, const std::byte* b, std::uint64_t most) noexcept {
  std::uint64_t at = 0;
  for (; most - at >= 8; at += 8) {
    const std::uint64_t difference = load_big_endian(a + at) ^ load_big_endian(b + at);
    if (difference != 0) return at + static_cast<std::uint64_t>(std::countl_zero(difference)) / 8;
  }
  while (at < most && a[at] == b[at]) ++at;
  return at;
}

}  // namespace sortcore
