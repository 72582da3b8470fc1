#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "bytes.hpp"
#include "keys/ascii_classes.hpp"
#include "keys/encodings.hpp"

namespace sortcore {
namespace {

// Powers of ten that a long double holds exactly: 5^27 has 63 bits.
constexpr int exact_powers = 28;

long double power_of_ten(int exponent) noexcept {
  static const auto powers = [] {
    std::array<long double, exact_powers> all{};
    long double power = 1;
    for (long double& value : all) {
      value = power;
      power *= 10;
    }
    return all;
  }();
  return powers[static_cast<std::size_t>(exponent)];
}

// Reads common numbers faster than strtold: both integer and power are exact, so that the result is rounded
// once, as strtold's is. Nothing for all others.
class ShortNumber {
 public:
  explicit ShortNumber(std::span<const std::byte> key) noexcept : at_(key.data()), end_(at_ + key.size()) {}

  std::optional<long double> read() noexcept {
    if (LDBL_MANT_DIG < 64) return std::nullopt;
    while (at_ < end_ && is_blank(*at_)) ++at_;
    const bool negative = is_next('-');
    if (!negative) is_next('+');
    read_digits(0);
    if (is_next('.')) read_digits(1);
    if (digits_ == 0 || digits_ > most_digits || is_next('x') || is_next('X')) return std::nullopt;
    if (is_next('e') || is_next('E')) return std::nullopt;
    if (decimals_ >= exact_powers) return std::nullopt;
    const long double value = static_cast<long double>(integer_) / power_of_ten(decimals_);
    return negative ? -value : value;
  }

 private:
  static constexpr int most_digits = 18;

  bool is_next(char wanted) noexcept {
    if (at_ == end_ || *at_ != static_cast<std::byte>(wanted)) return false;
    ++at_;
    return true;
  }
  void read_digits(int decimals_each) noexcept {
    for (; at_ < end_ && is_digit(*at_) && digits_ <= most_digits; ++at_, ++digits_) {
      integer_ = 10 * integer_ + (value_of(*at_) - std::uint64_t{'0'});
      decimals_ += decimals_each;
    }
  }

  const std::byte* at_;
  const std::byte* end_;
  std::uint64_t integer_ = 0;
  int digits_ = 0;
  int decimals_ = 0;
};

std::optional<long double> read_number(std::span<const std::byte> key) {
  if (const auto value = ShortNumber(key).read()) return value;
  const std::string text(reinterpret_cast<const char*>(key.data()), key.size());
  char* end = nullptr;
  const long double value = std::strtold(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  return value;
}

// By its bytes in memory, as in GNU sort; without padding.
std::byte* encode_nan(long double value, std::byte* to) noexcept {
  constexpr std::size_t bytes = LDBL_MANT_DIG == 64 ? 10 : sizeof value;
  std::memcpy(to, &value, bytes);
  return to + bytes;
}

// Sign and exponent, which lies within 16,500 of zero, in three bytes; then the mantissa.
std::byte* encode_finite(long double value, std::byte* to) noexcept {
  constexpr int middle = 0x100000, infinite = 0x7fffff, sign = 0x800000;
  int exponent = 0;
  const long double mantissa = std::isinf(value) ? 0.5L : std::frexp(std::fabs(value), &exponent);
  const int size = std::isinf(value) ? infinite : value == 0 ? 0 : middle + exponent;
  const int top = value < 0 ? ~(size | sign) : size | sign;
  for (int shift = 16; shift >= 0; shift -= 8) *to++ = static_cast<std::byte>(top >> shift);
  long double rest = std::ldexp(mantissa, 64);
  for (int bits = 0; bits < LDBL_MANT_DIG; bits += 64, to += sizeof(std::uint64_t)) {
    const auto word = static_cast<std::uint64_t>(rest);
    store_big_endian(to, value < 0 ? ~word : word);
    rest = std::ldexp(rest - static_cast<long double>(word), 64);
  }
  return to;
}

}  // namespace

std::byte* encode_general(std::span<const std::byte> key, std::byte* to) {
  enum class Rank : std::uint8_t { no_number, nan, number };
  const auto value = read_number(key);
  const Rank rank = !value ? Rank::no_number : std::isnan(*value) ? Rank::nan : Rank::number;
  *to++ = static_cast<std::byte>(rank);
  if (rank == Rank::no_number) return to;
  return rank == Rank::nan ? encode_nan(*value, to) : encode_finite(*value, to);
}

}  // namespace sortcore
