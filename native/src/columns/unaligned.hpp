// Values at any address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace sortcore {

template <typename Value>
Value load(const std::byte* from) noexcept {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename Value>
void store(std::byte* to, Value value) noexcept {
  std::memcpy(to, &value, sizeof value);
}

struct TwoWords {
  std::uint64_t words[2];
};

inline bool is_set(const std::byte* bits, std::uint64_t bit) noexcept {
  return std::to_integer<unsigned>(bits[bit / 8]) >> bit % 8 & 1;
}

// Calls copy(a value of the width) for the widths that a processor moves at once; returns whether the width
// is one of these.
template <typename Copy>
bool with_word_of(std::size_t width, Copy copy) {
  switch (width) {
    case 1:
      copy(std::uint8_t{});
      return true;
    case 2:
      copy(std::uint16_t{});
      return true;
    case 4:
      copy(std::uint32_t{});
      return true;
    case 8:
      copy(std::uint64_t{});
      return true;
    case 16:
      copy(TwoWords{});
      return true;
    default:
      return false;
  }
}

}  // namespace sortcore
