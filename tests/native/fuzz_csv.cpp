// Any bytes are CSV: rows end where a plain reader ends them, and a sort keeps every row in order or names a
// wrong one. The first bytes choose columns and keys.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "lines/quoted_lines.hpp"
#include "random_lines.hpp"
#include "sortcore/error.hpp"
#include "sortcore/keys/line_encoder.hpp"
#include "sortcore/keys/partition_text.hpp"
#include "sortcore/keys/sort_text.hpp"

namespace {
using namespace sortcore;
using lines::Text;

constexpr std::byte quote{'"'};

void demand(bool condition) {
  if (!condition) std::abort();
}

// Ends of rows, byte by byte.
std::vector<std::uint64_t> ends_of(std::span<const std::byte> text, bool is_within) {
  std::vector<std::uint64_t> ends;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == quote) is_within = !is_within;
    if (text[i] == newline && !is_within) ends.push_back(i + 1);
  }
  return ends;
}

void check_ends(std::span<const std::byte> text) {
  const QuotedCount count = count_quoted_lines(text, quote);
  demand(count.flips == (std::ranges::count(text, quote) % 2 != 0));
  for (const bool is_within : {false, true}) {
    const auto expected = ends_of(text, is_within);
    demand((is_within ? count.within : count.outside) == expected.size());
    std::vector<std::uint64_t> ends(expected.size());
    demand(list_quoted_starts(text, 0, ends, quote, is_within) && ends == expected);
    demand(whole_quoted_lines(text, quote, count.flips != is_within) ==
           (expected.empty() ? 0 : expected.back()));
    bool state = is_within;
    const std::byte* const end = find_quoted_end(text.data(), text.data() + text.size(), quote, state);
    demand(expected.empty() ? end == nullptr : end == text.data() + expected.front() - 1);
  }
}

KeyOrder order_from(const unsigned char* data) {
  constexpr KeyKind kinds[] = {KeyKind::text, KeyKind::integer, KeyKind::number, KeyKind::floating,
                               KeyKind::date};
  KeyOrder order;
  order.csv = CsvFormat{std::byte{','}, quote, data[0] % 4U + 1, false};
  order.whole_line_last = false;
  for (std::size_t i = 1; i <= 1 + data[0] / 4 % 2U; ++i) {
    KeyPart part;
    part.first_field = data[i] % order.csv->columns;
    part.kind = kinds[data[i] / 4 % 5];
    if ((data[i] & 16) != 0) part.date_format = "%d/%m/%Y %H:%M:%S.%f%z";
    part.descending = (data[i] & 64) != 0;
    part.empty_first = (data[i] & 128) != 0;
    part.folds_case = part.kind == KeyKind::text && (data[i] & 32) != 0;
    order.parts.push_back(part);
  }
  return order;
}

// Returns nothing if a row is refused.
std::optional<std::string> sorted(const Text& text, const KeyOrder& order) {
  try {
    return sorted_text(text, order, false);
  } catch (const Error& error) {
    demand(error.code() == ErrorCode::bad_record);
    return std::nullopt;
  }
}

std::vector<std::string> rows_of(std::string_view text) {
  std::vector<std::string> rows;
  std::size_t begin = 0;
  for (const std::uint64_t end : ends_of(std::as_bytes(std::span(text)), false)) {
    rows.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  if (begin < text.size()) rows.push_back(std::string(text.substr(begin)) + "\n");
  return rows;
}

// Rows grouped by boundaries, and sorted group by group, equal the sorted rows.
void check_partitions(const std::string& rows, KeyOrder order) {
  order.whole_line_last = true;
  const std::string sorted = sorted_text(std::as_bytes(std::span(rows)), order, false);
  const auto in_order = first_lines(std::as_bytes(std::span(sorted)), order, UINT64_MAX);
  std::vector<TextBoundary> boundaries;
  for (std::size_t i = 0; i < in_order.size(); i += 1 + in_order.size() / 3)
    boundaries.push_back({in_order[i], i % 2 == 1});
  Text grouped(rows.size());
  const auto begins = partition_text(std::as_bytes(std::span(rows)), grouped, order, boundaries);
  std::string together;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i)
    together += sorted_text(std::span(grouped).subspan(begins[i], begins[i + 1] - begins[i]), order, false);
  demand(together == sorted);
  const TextSummary summary = summarize_text(std::as_bytes(std::span(sorted)), order);
  demand(summary.lines == in_order.size() && summary.unordered == 0);
  demand(in_order.empty() ||
         (summary.first_line == in_order.front() && summary.last_line == in_order.back()));
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  constexpr std::size_t choices = 3;
  if (size < choices) return 0;
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  const Text text(first + choices, first + size);
  check_ends(text);
  const KeyOrder order = order_from(data);
  const auto result = sorted(text, order);
  if (!result) return 0;
  auto before = rows_of({reinterpret_cast<const char*>(text.data()), text.size()});
  std::erase_if(before, [&](const std::string& row) {
    return order.csv->is_blank(std::as_bytes(std::span(row)).first(row.size() - 1));
  });
  auto after = rows_of(*result);
  LineEncoder encoder(order);
  Text last;
  for (const std::string& row : after) {
    GrowingBytes key;
    encoder.append(std::as_bytes(std::span(row)).first(row.size() - 1), key);
    const Text now(key.bytes().begin(), key.bytes().end());
    demand(last <= now);
    last = now;
  }
  std::ranges::sort(before);
  std::ranges::sort(after);
  demand(before == after);
  check_partitions(*result, order);
  return 0;
}

std::uint64_t usual_runs() { return 20'000; }

// Seeds of the mutation driver.
std::vector<std::vector<std::byte>> seeds() {
  constexpr std::string_view texts[] = {
      "10\n-2.50\n1e3\n+7\nnan\n-inf\n\n", "b,10\na,\n\"x,\"\"y\"\"\n\",3\n,\n",
      "a,b,c\r\n\"\",1,2\r\n\"q\r\n\",3,4", "1,2,3,4\n5,6,7,8\n\"9\",,,\n", "\"a\"b,\"\n"};
  std::vector<Text> all;
  for (unsigned columns = 0; columns < 8; ++columns) {
    for (const std::string_view words : texts) {
      Text seed{static_cast<std::byte>(columns), static_cast<std::byte>(columns * 37),
                static_cast<std::byte>(words.size() * 29)};
      lines::append(seed, words);
      all.push_back(seed);
    }
  }
  return all;
}
