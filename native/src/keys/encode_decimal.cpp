#include <algorithm>

#include "bytes.hpp"
#include "keys/ascii_classes.hpp"
#include "keys/encodings.hpp"

namespace sortcore {
namespace {

using Digits = std::span<const std::byte>;

// A number without leading and trailing zeros.
struct Decimal {
  bool negative = false;
  bool nonzero = false;
  Digits whole;                    // digits before the point, up to the last that counts
  std::uint64_t whole_digits = 0;  // before the point
  Digits fraction;
  const std::byte* end = nullptr;  // after the number
};

Digits take_digits(const std::byte*& at, const std::byte* end) noexcept {
  const std::byte* const first = at;
  while (at < end && is_digit(*at)) ++at;
  return {first, at};
}

Digits without_zeros_at_end(Digits digits) noexcept {
  while (!digits.empty() && digits.back() == std::byte{'0'}) digits = digits.first(digits.size() - 1);
  return digits;
}

Decimal read_decimal(std::span<const std::byte> key) noexcept {
  const std::byte* at = key.data();
  const std::byte* const end = at + key.size();
  Decimal number;
  while (at < end && is_blank(*at)) ++at;
  number.negative = at < end && *at == std::byte{'-'};
  at += number.negative;
  while (at < end && *at == std::byte{'0'}) ++at;
  number.whole = take_digits(at, end);
  number.whole_digits = number.whole.size();
  if (at < end && *at == std::byte{'.'}) number.fraction = without_zeros_at_end(take_digits(++at, end));
  if (number.fraction.empty()) number.whole = without_zeros_at_end(number.whole);
  number.nonzero = number.whole_digits != 0 || !number.fraction.empty();
  number.end = at;
  return number;
}

// Two digits to a byte, from 1 on; a half byte at the end is a digit 0, which changes no number.
class PairWriter {
 public:
  explicit PairWriter(std::byte* to) noexcept : to_(to) {}

  void add(Digits digits) noexcept {
    for (const std::byte digit : digits) {
      const auto value = static_cast<std::uint8_t>(value_of(digit) - '0');
      if (is_half_) {
        to_[-1] = static_cast<std::byte>(value_of(to_[-1]) + value);
      } else {
        *to_++ = static_cast<std::byte>(10 * value + 1);
      }
      is_half_ = !is_half_;
    }
  }
  std::byte* end() const noexcept { return to_; }

 private:
  std::byte* to_;
  bool is_half_ = false;
};

std::byte* encode_number(const Decimal& number, std::byte* to) noexcept {
  constexpr std::uint8_t zero = 0x80, first_positive = 0x81, many_digits = 0xf0;
  if (!number.nonzero) {
    *to++ = static_cast<std::byte>(zero);
    return to;
  }
  std::byte* const begin = to;
  if (number.whole_digits < many_digits - first_positive) {
    *to++ = static_cast<std::byte>(first_positive + number.whole_digits);
  } else {
    *to++ = static_cast<std::byte>(many_digits);
    store_big_endian(to, number.whole_digits);
    to += sizeof number.whole_digits;
  }
  PairWriter pairs(to);
  pairs.add(number.whole);
  pairs.add(number.fraction);
  to = pairs.end();
  *to++ = std::byte{0};
  if (number.negative) std::transform(begin, to, begin, [](std::byte byte) { return ~byte; });
  return to;
}

int order_of_suffix(std::byte suffix) noexcept {
  switch (value_of(suffix)) {
    case 'k':
    case 'K':
      return 1;
    case 'M':
      return 2;
    case 'G':
      return 3;
    case 'T':
      return 4;
    case 'P':
      return 5;
    case 'E':
      return 6;
    case 'Z':
      return 7;
    case 'Y':
      return 8;
    case 'R':
      return 9;
    case 'Q':
      return 10;
    default:
      return 0;
  }
}

}  // namespace

std::byte* encode_decimal(std::span<const std::byte> key, std::byte* to) noexcept {
  return encode_number(read_decimal(key), to);
}

std::byte* encode_human(std::span<const std::byte> key, std::byte* to) noexcept {
  const Decimal number = read_decimal(key);
  const bool has_suffix = number.nonzero && number.end < key.data() + key.size();
  const int order = has_suffix ? order_of_suffix(*number.end) : 0;
  *to++ = static_cast<std::byte>(0x80 + (number.negative ? -order : order));
  return encode_number(number, to);
}

}  // namespace sortcore
