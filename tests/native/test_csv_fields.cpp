// Rows of CSV split 64 bytes at a time, compared with a walk byte by byte.
#include "keys/csv_fields.hpp"

#include <optional>
#include <string>
#include <vector>

#include "check.hpp"
#include "random_sequence.hpp"

namespace {
using namespace sortcore;
using Fields = std::vector<std::string>;

// The values of a row by RFC 4180, or nothing if a quote is misplaced. Quotes come in pairs.
std::optional<Fields> walked(const std::string& row) {
  Fields fields(1);
  enum { begins, plain, quoted, closed } state = begins;
  for (const char byte : row) {
    if (byte == ',' && state != quoted) {
      fields.emplace_back();
      state = begins;
    } else if (byte == '"') {
      if (state == plain) return std::nullopt;
      if (state == closed) fields.back() += '"';
      state = state == quoted ? closed : quoted;
    } else {
      if (state == closed) return std::nullopt;
      if (state == begins) state = plain;
      fields.back() += byte;
    }
  }
  return fields;
}

std::string random_row(RandomSequence& random, std::size_t most) {
  const char* const alphabet = random.below(2) == 0 ? "a,\"" : "abcdefgh,\"\n";
  const std::size_t letters = std::string(alphabet).size();
  std::string row;
  bool is_within = false;
  for (std::size_t left = random.below(most); left != 0; --left) {
    char byte = alphabet[random.below(letters)];
    if (byte == '\n' && !is_within) byte = 'z';
    is_within ^= byte == '"';
    row += byte;
  }
  return is_within ? row + '"' : row;
}

std::string enclosed(const std::string& value) {
  std::string text = "\"";
  for (const char byte : value) text += byte == '"' ? std::string("\"\"") : std::string(1, byte);
  return text + '"';
}

std::string well_formed(RandomSequence& random, std::size_t fields) {
  std::string row;
  for (std::size_t i = 0; i < fields; ++i) {
    std::string value = random_row(random, 40);
    if (value.find_first_of(",\"\n") != std::string::npos || random.below(3) == 0) value = enclosed(value);
    row += (i == 0 ? "" : ",") + value;
  }
  return row;
}

void compare(const std::string& row) {
  const std::optional<Fields> wanted = walked(row);
  ++check::cases();
  CsvFormat format;
  format.delimiter = std::byte{','};
  format.quote = std::byte{'"'};
  const std::span<const std::byte> bytes = std::as_bytes(std::span(row));
  // Where quotes are misplaced, delimiters are still those outside of pairs of quotes.
  std::uint64_t columns = 1;
  bool is_within = false;
  for (const char byte : row) {
    is_within ^= byte == '"';
    columns += byte == ',' && !is_within;
  }
  format.columns = columns;
  CsvFields fields(format);
  if (!wanted) {
    CHECK_THROWS(bad_record, fields.split(bytes));
    return;
  }
  fields.split(bytes);
  CHECK_EQUAL(columns, wanted->size());
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    const auto value = fields.value(i);
    CHECK_EQUAL(std::string(reinterpret_cast<const char*>(value.data()), value.size()), (*wanted)[i]);
  }
}
}  // namespace

TEST(csv_fields_are_those_of_a_walk) {
  RandomSequence random(41);
  for (const char* row :
       {"", "\"\"", "\"\"\"\"", "a\"\"b", "\"\"a", "\"a\"b\"c\"", "a,\"b\"\"c\",", "a\"b,c\"d"})
    compare(row);
  for (std::uint64_t left = 100'000 / (check::sanitized ? 10 : 1) * check::effort(); left != 0; --left) {
    compare(random_row(random, 8));
    compare(random_row(random, 200));
    compare(well_formed(random, 1 + random.below(12)));
  }
}
