// Classes of bytes in the locale C.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortcore {

constexpr std::uint8_t value_of(std::byte byte) noexcept { return static_cast<std::uint8_t>(byte); }

constexpr bool is_digit(std::byte byte) noexcept { return byte >= std::byte{'0'} && byte <= std::byte{'9'}; }
constexpr bool is_upper(std::byte byte) noexcept { return byte >= std::byte{'A'} && byte <= std::byte{'Z'}; }
constexpr bool is_letter(std::byte byte) noexcept {
  return is_upper(byte) || (byte >= std::byte{'a'} && byte <= std::byte{'z'});
}
constexpr bool is_printing(std::byte byte) noexcept {
  return byte >= std::byte{' '} && byte <= std::byte{'~'};
}
// The separator of fields. A newline is one too, if lines end with NUL.
constexpr bool is_blank(std::byte byte) noexcept {
  return byte == std::byte{' '} || byte == std::byte{'\t'} || byte == std::byte{'\n'};
}
constexpr std::byte to_upper(std::byte byte) noexcept {
  return byte >= std::byte{'a'} && byte <= std::byte{'z'} ? byte ^ std::byte{0x20} : byte;
}

}  // namespace sortcore
