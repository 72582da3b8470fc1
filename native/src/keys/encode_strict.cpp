// Strict numbers and dates, as in the columns of a table.
#include <time.h>  // strptime is of POSIX

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
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

[[noreturn]] void refuse(std::span<const std::byte> key, const std::string& kind) {
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

// The fields that strptime fills in, and what it does not know.
struct DateFields {
  tm fields{};
  std::uint32_t nanoseconds = 0;

  DateFields() {
    constexpr int leap_year = 100;  // so that February 29 is a day without a year
    fields.tm_mday = 1;
    fields.tm_year = leap_year;
  }

  // Each reads the beginning of a text, and returns what follows; null if the text does not fit, or is null.
  const char* read(const char* text, const char* format) {
    return text == nullptr ? nullptr : strptime(text, format, &fields);
  }
  const char* read_fraction(const char* text) noexcept {
    constexpr std::size_t most_digits = 9;
    const std::size_t digits = text == nullptr ? 0 : digits_at(text);
    if (digits == 0 || digits > most_digits) return nullptr;
    for (std::size_t at = 0; at < most_digits; ++at)
      nanoseconds = nanoseconds * 10 + (at < digits ? static_cast<std::uint32_t>(text[at] - '0') : 0);
    return text + digits;
  }
  const char* read_iso(const char* text) {
    text = read(text, "%Y-%m-%d");
    if (text == nullptr || (*text != 'T' && *text != ' ')) return text;
    text = read(text + 1, "%H:%M");
    if (text != nullptr && *text == ':') {
      text = read(text + 1, "%S");
      if (text != nullptr && (*text == '.' || *text == ',')) text = read_fraction(text + 1);
    }
    return text == nullptr || *text == '\0' ? text : read(text, "%z");
  }
  // Without its fraction the text is read in one call, within which strptime joins %I and %p.
  const char* read_format(const char* text, const std::string& format) {
    constexpr std::string_view fraction = "%f";
    std::size_t at = format.find('%');
    while (at < format.size() && format.compare(at, fraction.size(), fraction) != 0)
      at = format.find('%', at + fraction.size());
    if (at >= format.size()) return read(text, format.c_str());
    const std::string head = format.substr(0, at);
    const char* const digits = DateFields().read(text, head.c_str());
    const char* const tail = read_fraction(digits);
    if (tail == nullptr) return nullptr;
    const std::string whole = std::string(text, digits) + tail;
    const char* const end = read(whole.c_str(), (head + format.substr(at + fraction.size())).c_str());
    return end == whole.c_str() + whole.size() ? tail + std::strlen(tail) : nullptr;
  }
};

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

std::byte* encode_date(std::span<const std::byte> key, const std::string& format, std::byte* to) {
  const std::string text(trimmed(key));
  DateFields date;
  const char* const rest =
      format.empty() ? date.read_iso(text.c_str()) : date.read_format(text.c_str(), format);
  const tm& fields = date.fields;
  const std::chrono::year_month_day day{std::chrono::year{fields.tm_year + 1900},
                                        std::chrono::month{static_cast<unsigned>(fields.tm_mon + 1)},
                                        std::chrono::day{static_cast<unsigned>(fields.tm_mday)}};
  // strptime takes a %Y of fewer digits, such as the 26 of a format with %y.
  const std::string year = std::to_string(fields.tm_year + 1900);
  const std::size_t zeros = year.size() < 4 ? 4 - year.size() : 0;
  const bool is_short_year = zeros != 0 && text.find(std::string(zeros, '0') + year) == std::string::npos;
  if (rest != text.c_str() + text.size() || !day.ok() || is_short_year)
    refuse(key, format.empty() ? "date as 2026-12-31; date=%d/%m/%Y is another format" : "date as " + format);
  const std::chrono::seconds within{fields.tm_hour * 3600 + fields.tm_min * 60 + fields.tm_sec -
                                    fields.tm_gmtoff};
  const std::int64_t seconds = (std::chrono::sys_days(day).time_since_epoch() + within).count();
  store_big_endian(to, static_cast<std::uint64_t>(seconds) ^ std::uint64_t{1} << 63);
  constexpr int high = 32;  // the first half is the number
  store_big_endian(to + sizeof seconds, std::uint64_t{date.nanoseconds} << high);
  return to + sizeof seconds + sizeof date.nanoseconds;
}

}  // namespace sortcore
