#include <cstring>

#include "keys/encodings.hpp"

namespace sortcore {
namespace {

constexpr std::uint64_t of_each(std::uint8_t value) { return 0x0101010101010101U * value; }

// True if one of eight bytes is 0 or 1.
bool has_escaped(std::uint64_t bytes) noexcept {
  return ((bytes - of_each(2)) & ~bytes & of_each(0x80)) != 0;
}

}  // namespace

std::byte* encode_text(std::span<const std::byte> key, std::byte* to) noexcept {
  constexpr std::byte escape{1};
  const std::byte* at = key.data();
  const std::byte* const end = at + key.size();
  while (at < end) {
    std::uint64_t eight = 0;
    if (end - at >= 8) {
      std::memcpy(&eight, at, sizeof eight);
      if (!has_escaped(eight)) {
        std::memcpy(to, &eight, sizeof eight);
        at += sizeof eight;
        to += sizeof eight;
        continue;
      }
    }
    if (*at <= escape) {
      *to++ = escape;
      *to++ = *at++ == escape ? std::byte{2} : std::byte{1};
    } else {
      *to++ = *at++;
    }
  }
  *to++ = std::byte{0};
  return to;
}

}  // namespace sortcore
