#include "sortcore/columns/text_types.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>

#include "columns/expect.hpp"
#include "columns/unaligned.hpp"
#include "sortcore/error.hpp"

namespace sortcore {
namespace {

constexpr bool is_digit(char byte) noexcept { return byte >= '0' && byte <= '9'; }

// Takes a text apart from its beginning.
class TextScanner {
 public:
  explicit TextScanner(std::string_view text) noexcept : text_(text) {}

  bool at_end() const noexcept { return text_.empty(); }
  bool take(char wanted) noexcept {
    if (text_.empty() || text_.front() != wanted) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool take_any(std::string_view wanted) noexcept {
    if (text_.empty() || wanted.find(text_.front()) == std::string_view::npos) return false;
    text_.remove_prefix(1);
    return true;
  }
  // The digits that follow, and how many.
  std::string_view take_digits() noexcept {
    std::size_t count = 0;
    while (count < text_.size() && is_digit(text_[count])) ++count;
    const std::string_view digits = text_.substr(0, count);
    text_.remove_prefix(count);
    return digits;
  }
  // A number of so many digits; a negative one if there are fewer.
  int take_number(std::size_t digits) noexcept {
    if (text_.size() < digits) return -1;
    int number = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      if (!is_digit(text_[i])) return -1;
      number = 10 * number + (text_[i] - '0');
    }
    text_.remove_prefix(digits);
    return number;
  }

 private:
  std::string_view text_;
};

bool is_normal_double(std::string_view text) noexcept {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  return fault == std::errc{} && end == text.data() + text.size() &&
         (value == 0 || std::abs(value) >= std::numeric_limits<double>::min());
}

bool fits_in_64_bits(std::string_view text) noexcept {
  std::int64_t value = 0;
  return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
}

std::uint8_t types_of_number(std::string_view text) noexcept {
  constexpr std::size_t most_digits = 17, most_whole_digits = 15;
  TextScanner reader(text);
  const bool is_negative = reader.take('-');
  const std::string_view whole = reader.take_digits();
  if (whole.size() > 1 && whole.front() == '0') return 0;
  if (reader.at_end()) {
    if (whole.empty()) return 0;
    const bool is_integer = !(is_negative && whole == "0") && fits_in_64_bits(text);
    return (is_integer ? text_type::integer : 0) |
           (whole.size() <= most_whole_digits ? text_type::floating : 0);
  }
  const std::string_view part = reader.take('.') ? reader.take_digits() : std::string_view();
  if (whole.empty() && part.empty()) return 0;
  const bool is_below_one = whole.empty() || whole == "0";  // zeros before the first other digit say nothing
  const std::size_t zeros = is_below_one ? std::min(part.find_first_not_of('0'), part.size()) : 0;
  if ((is_below_one ? 0 : whole.size()) + part.size() - zeros > most_digits) return 0;
  if (reader.at_end()) return text_type::floating;
  if (!reader.take_any("eE")) return 0;
  reader.take_any("+-");
  if (reader.take_digits().empty() || !reader.at_end()) return 0;
  return is_normal_double(text) ? text_type::floating : 0;
}

bool is_leap(int year) noexcept { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

bool is_day(int year, int month, int day) noexcept {
  constexpr std::array<int, 12> days = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (year < 0 || month < 1 || month > 12 || day < 1) return false;
  return day <= days[static_cast<std::size_t>(month - 1)] + (month == 2 && is_leap(year) ? 1 : 0);
}

bool is_within(int number, int most) noexcept { return number >= 0 && number <= most; }

// Takes Z, +01:00 or -0130.
bool take_zone(TextScanner& reader) noexcept {
  if (reader.take('Z')) return true;
  if (!reader.take_any("+-")) return false;
  if (!is_within(reader.take_number(2), 23)) return false;
  reader.take(':');
  return is_within(reader.take_number(2), 59);
}

std::uint8_t types_of_time(std::string_view text) noexcept {
  constexpr int first_of_nanoseconds = 1678, last_of_nanoseconds = 2261;
  constexpr std::size_t digits_of_microseconds = 6, digits_of_nanoseconds = 9;
  TextScanner reader(text);
  const int year = reader.take_number(4);
  if (!reader.take('-')) return 0;
  const int month = reader.take_number(2);
  if (!reader.take('-')) return 0;
  if (!is_day(year, month, reader.take_number(2))) return 0;
  if (reader.at_end()) return text_type::date;
  if (!reader.take_any(" T") || !is_within(reader.take_number(2), 23)) return 0;
  if (!reader.take(':') || !is_within(reader.take_number(2), 59)) return 0;
  std::size_t digits = 0;
  if (reader.take(':')) {
    if (!is_within(reader.take_number(2), 59)) return 0;
    if (reader.take('.') && (digits = reader.take_digits().size()) == 0) return 0;
  }
  const bool has_zone = !reader.at_end();
  if (has_zone && !(take_zone(reader) && reader.at_end())) return 0;
  std::uint8_t found = 0;
  if (digits <= digits_of_microseconds)
    found |= has_zone ? text_type::microsecond_utc : text_type::microsecond;
  if (digits <= digits_of_nanoseconds && year >= first_of_nanoseconds && year <= last_of_nanoseconds)
    found |= has_zone ? text_type::nanosecond_utc : text_type::nanosecond;
  return found;
}

bool is_truth(std::string_view text) noexcept {
  for (const std::string_view word : {"true", "True", "TRUE", "false", "False", "FALSE"})
    if (text == word) return true;
  return false;
}

}  // namespace

std::uint8_t types_of_text(std::string_view text) noexcept {
  constexpr std::size_t year_digits = 4;
  if (text.empty()) return 0;
  if (text.size() > year_digits && text[year_digits] == '-' && is_digit(text.front()))
    return types_of_time(text);
  if (is_digit(text.front()) || text.front() == '-' || text.front() == '.') return types_of_number(text);
  return is_truth(text) ? text_type::truth : 0;
}

std::uint8_t types_of_texts(std::uint64_t rows, BitChunk validity, ColumnChunk offsets, ColumnChunk texts,
                            std::uint8_t able) {
  using Offset = std::uint32_t;
  const std::uint64_t bits = std::uint64_t{validity.bits.size()} * 8;
  expect(rows == 0 || offsets.size() / sizeof(Offset) > rows, "a column is too short for its rows");
  expect(validity.bits.empty() || (validity.first <= bits && bits - validity.first >= rows),
         "a column is too short for its rows");
  for (std::uint64_t row = 0; row < rows && able != 0; ++row) {
    if (!validity.bits.empty() && !is_set(validity.bits.data(), validity.first + row)) continue;
    const auto begin = load<Offset>(offsets.data() + row * sizeof(Offset)),
               end = load<Offset>(offsets.data() + (row + 1) * sizeof(Offset));
    if (end < begin) throw Error(ErrorCode::bad_record, "a text ends before it begins");
    if (end > texts.size()) throw Error(ErrorCode::bad_record, "a text is not in its chunk");
    able &= types_of_text({reinterpret_cast<const char*>(texts.data()) + begin, end - begin});
  }
  return able;
}

}  // namespace sortcore
