#include <algorithm>

#include "bytes.hpp"
#include "keys/ascii_classes.hpp"
#include "keys/encodings.hpp"
#include "sortcore/keys/natural_keys.hpp"

namespace sortcore {
namespace {

using Text = std::span<const std::byte>;
constexpr std::size_t many = 0xff;

Text first_digits(Text text) noexcept {
  const auto end = std::ranges::find_if_not(text, is_digit);
  return text.first(static_cast<std::size_t>(end - text.begin()));
}

std::size_t leading_zeros(Text digits) noexcept {
  const auto first = std::ranges::find_if(digits, [](std::byte digit) { return digit != std::byte{'0'}; });
  return static_cast<std::size_t>(first - digits.begin());
}

std::byte* encode_count(std::size_t count, std::byte* to) noexcept {
  *to++ = static_cast<std::byte>(std::min(count, many));
  if (count < many) return to;
  store_big_endian(to, count);
  return to + sizeof(std::uint64_t);
}

// In place of a digit, the number of digits and the digits.
std::byte* encode_value(Text digits, std::byte* to) noexcept {
  const Text value = digits.subspan(leading_zeros(digits));
  *to++ = std::byte{'0'};
  return std::ranges::copy(value, encode_count(value.size(), to)).out;
}

}  // namespace

// The end is followed by the zeros before each number, which decide between 1 and 01.
std::byte* encode_natural(Text key, std::byte* to) noexcept {
  constexpr std::byte escape{1};
  for (std::size_t at = 0; at < key.size();) {
    const Text digits = first_digits(key.subspan(at));
    if (!digits.empty()) {
      to = encode_value(digits, to);
      at += digits.size();
      continue;
    }
    const std::byte byte = key[at++];
    if (byte <= escape) *to++ = escape;
    *to++ = byte <= escape ? static_cast<std::byte>(value_of(byte) + 1) : byte;
  }
  *to++ = std::byte{0};
  for (std::size_t at = 0; at < key.size();) {
    const Text digits = first_digits(key.subspan(at));
    if (!digits.empty()) to = encode_count(leading_zeros(digits), to);
    at += std::max<std::size_t>(digits.size(), 1);
  }
  return to;
}

NaturalKeys natural_keys(std::span<const std::int64_t> offsets, Text texts) {
  NaturalKeys made;
  made.offsets.push_back(0);
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i) {
    const auto first = static_cast<std::size_t>(offsets[i]), end = static_cast<std::size_t>(offsets[i + 1]);
    const Text text = texts.subspan(first, end - first);
    const std::size_t size = made.keys.size();
    made.keys.resize(size + most_encoded_bytes(KeyKind::natural, text.size()));
    const std::byte* const behind = encode_natural(text, made.keys.data() + size);
    made.keys.resize(static_cast<std::size_t>(behind - made.keys.data()));
    made.offsets.push_back(static_cast<std::int64_t>(made.keys.size()));
  }
  return made;
}

}  // namespace sortcore
