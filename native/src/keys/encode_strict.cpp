// Strict numbers, as in the columns of a table.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>

#include "bytes.hpp"
#include "keys/ascii_classes.hpp"
#include "keys/encodings.hpp"
#include "sortcore/error.hpp"

namespace sortcore {
namespace {

std::string_view trimmed(std::span<const std::byte> key) noexcept {
  while (!key.empty() && is_blank(key.front())) key = key.subspan(1);
  while (!key.empty() && is_blank(key.back())) key = key.first(key.size() - 1);
  return {reinterpret_cast<const char*>(key.data()), key.size()};
}

[[noreturn]] void refuse(std::span<const std::byte> key, const char* kind) {
  constexpr std::size_t most_shown = 40;
  std::string text(reinterpret_cast<const char*>(key.data()), std::min(key.size(), most_shown));
  std::ranges::replace(text, '\0', '?');  // it would end the message
  throw Error(ErrorCode::bad_record, "'" + text + "' is no " + kind);
}

std::size_t digits_at(std::string_view text) noexcept {
  const auto other = std::ranges::find_if_not(text, [](char c) { return is_digit(std::byte(c)); });
  return static_cast<std::size_t>(other - text.begin());
}

// Without its plus sign; digits, and in a decimal number perhaps a point.
std::string_view checked(std::span<const std::byte> key, bool may_have_point, const char* kind) {
  std::string_view number = trimmed(key);
  if (number.starts_with('+')) number.remove_prefix(1);
  std::string_view rest = number;
  if (rest.starts_with('-') && rest.data() == trimmed(key).data()) rest.remove_prefix(1);
  std::size_t digits = digits_at(rest);
  rest.remove_prefix(digits);
  if (may_have_point && rest.starts_with('.')) {
    const std::size_t decimals = digits_at(rest.substr(1));
    digits += decimals;
    rest.remove_prefix(decimals + 1);
  }
  if (digits == 0 || !rest.empty()) refuse(key, kind);
  return number;
}

double read_double(std::span<const std::byte> key) {
  constexpr const char* kind = "number";
  std::string_view number = trimmed(key);
  if (number.starts_with('+')) {
    number.remove_prefix(1);
    if (number.starts_with('-')) refuse(key, kind);
  }
  if (number.empty()) refuse(key, kind);
#if defined(__cpp_lib_to_chars)
  double value = 0;
  const char* const end = number.data() + number.size();
  const auto [behind, error] = std::from_chars(number.data(), end, value);
  if (behind != end || error == std::errc::invalid_argument) refuse(key, kind);
  if (error == std::errc{}) return value;
#endif
  const std::string text(number);  // too large or too small, or parsed here without the above
  char* after = nullptr;
  const double rounded = std::strtod(text.c_str(), &after);
  if (after != text.c_str() + text.size()) refuse(key, kind);
  return rounded;
}

}  // namespace

std::byte* encode_integer(std::span<const std::byte> key, std::byte* to) {
  return encode_decimal(std::as_bytes(std::span(checked(key, false, "integer"))), to);
}

std::byte* encode_number(std::span<const std::byte> key, std::byte* to) {
  return encode_decimal(std::as_bytes(std::span(checked(key, true, "decimal number"))), to);
}

std::byte* encode_float(std::span<const std::byte> key, std::byte* to) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  const double value = read_double(key);
  const auto bits = std::bit_cast<std::uint64_t>(value == 0 ? 0.0 : value);
  const std::uint64_t ordered = (bits & sign) != 0 ? ~bits : bits | sign;
  store_big_endian(to, std::isnan(value) ? std::numeric_limits<std::uint64_t>::max() : ordered);
  return to + sizeof ordered;
}

}  // namespace sortcore
