// The order of lines by keys, as GNU sort defines it in the locale C, or of rows of CSV by columns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sortcore/lines/line_format.hpp"

namespace sortcore {

// Integer, number, floating and date are strict: an invalid value is an error. The last three are binary
// numbers of as many bytes as the key has.
enum class KeyKind : std::uint8_t {
  text,
  decimal,
  general,
  human,
  month,
  version,
  natural,
  random,
  integer,
  number,
  floating,
  date,
  binary_unsigned,
  binary_signed,
  binary_floating
};
// True if keys are as long as their source text.
constexpr bool is_of_text(KeyKind kind) noexcept {
  return kind == KeyKind::text || kind == KeyKind::version || kind == KeyKind::natural;
}
// Bytes of a key that count: all, letters, digits and blanks alone, or printing ones alone.
enum class KeyBytes : std::uint8_t { all, dictionary, printing };

// A part of the line: from a byte of a field to a byte of a field, and how that part compares.
struct KeyPart {
  static constexpr std::uint64_t unlimited = UINT64_MAX;

  std::uint64_t first_field =
      0;  // the column of CSV; else counted from 0; unlimited: the key begins with the line
  std::uint64_t first_byte = 0;
  std::uint64_t last_field = unlimited;  // unlimited: the key ends with the line
  std::uint64_t last_field_bytes = 0;    // of the last field; 0: all of it
  bool skips_blanks_at_start = false;
  bool skips_blanks_at_end = false;
  KeyKind kind = KeyKind::text;
  KeyBytes bytes = KeyBytes::all;
  bool folds_case = false;
  bool is_little_endian = false;  // of a binary number, which is big endian otherwise
  bool descending = false;
  bool empty_first = false;  // of CSV, where empty values otherwise come last, in either direction
  std::string date_format;   // as strptime takes it, with %f for digits behind a second; empty: ISO 8601
};

// Rows as in RFC 4180: a field may be enclosed in quotes, and then contain delimiters, newlines and doubled
// quotes.
struct CsvFormat {
  std::byte delimiter{','};
  std::byte quote{'"'};
  std::uint64_t columns = 1;    // of every row
  bool ends_with_crlf = false;  // line end added to a last row without one; else a newline

  // True if a line is blank and thus no row, as rows have several fields: it is left out.
  bool is_blank(std::span<const std::byte> line) const noexcept {
    return columns > 1 && (line.empty() || (line.size() == 1 && line.front() == std::byte{'\r'}));
  }
};

struct KeyOrder {
  std::vector<KeyPart> parts;          // none: the whole line, as bytes
  std::optional<std::byte> separator;  // none: fields begin with the blanks before them
  std::byte line_end = newline;
  bool whole_line_last = true;  // if keys are equal, the lines compare, as bytes; else they keep their order
  bool reversed = false;        // descending order of whole lines, where they are compared
  std::array<std::byte, 16> random_seed{};
  std::optional<CsvFormat> csv;    // lines are rows, and parts columns
  std::uint64_t record_bytes = 0;  // not 0: lines are records of this many bytes without line ends

  std::optional<std::byte> quote() const noexcept { return csv ? std::optional(csv->quote) : std::nullopt; }
  // Bytes after a line that are not part of it.
  std::uint64_t end_bytes() const noexcept { return record_bytes == 0 ? 1 : 0; }
  bool is_whole_line() const noexcept { return parts.empty(); }
};

}  // namespace sortcore
