// Lines sorted by encoded keys, many of them equal and a few unlike all others, compared with
// std::stable_sort.
#include "keys/run_sorter.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "check.hpp"
#include "random_sequence.hpp"
#include "sortcore/error.hpp"

namespace {
using namespace sortcore;

struct Row {
  std::uint64_t number;
  std::string text;
  std::string line;
};

// Few digits or letters, so that the entries of buckets decide; one key in `odd_one_in` is longer or shorter.
Row random_row(RandomSequence& random, std::uint64_t odd_one_in) {
  const bool is_odd = random.below(odd_one_in) == 0;
  Row row{random.below(is_odd ? 3 : 2'000), "day-", ""};
  if (is_odd && random.below(2) == 0) row.number += 1'000'000'000'000;
  for (int i = 0; i < 3; ++i) row.text += static_cast<char>('0' + random.below(10));
  if (is_odd) row.text.resize(1 + random.below(8), 'e');
  if (is_odd && random.below(3) == 0) row.text += std::string(random.below(60), '0');
  if (is_odd && random.below(3) == 0) row.text.insert(0, 1, '!');
  row.line = std::to_string(random.below(100)) + "," + std::to_string(row.number) + "," + row.text + "\n";
  return row;
}

std::string joined(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) text += row.line;
  return text;
}

KeyOrder order_by(std::size_t column, KeyKind kind, bool descending) {
  KeyOrder order;
  order.csv = CsvFormat{};
  order.csv->columns = 3;
  order.whole_line_last = false;
  KeyPart part;
  part.first_field = column;
  part.kind = kind;
  part.descending = descending;
  order.parts.push_back(part);
  return order;
}

std::string sorted_by(RunSorter& sorter, const std::string& text) {
  sorter.sort(std::as_bytes(std::span(text)), UINT64_MAX, nullptr);
  std::string sorted(sorter.bytes(), '\0');
  sorter.gather(0, std::as_writable_bytes(std::span(sorted)));
  return sorted;
}

template <typename Key>
void check_order(std::vector<Row> rows, std::size_t column, KeyKind kind, Key Row::* key) {
  constexpr unsigned threads = 3;
  const std::string text = joined(rows);
  for (const bool descending : {false, true}) {
    std::ranges::stable_sort(
        rows, [&](const Row& a, const Row& b) { return descending ? b.*key < a.*key : a.*key < b.*key; });
    RunSorter sorter(order_by(column, kind, descending), false, threads);
    CHECK(sorted_by(sorter, text) == joined(rows));
  }
}

std::vector<Row> random_rows(RandomSequence& random, std::uint64_t odd_one_in) {
  std::vector<Row> rows(check::sanitized ? 40'000 : 120'000);
  for (Row& row : rows) row = random_row(random, odd_one_in);
  return rows;
}

std::string failure_of(RunSorter& sorter, const std::string& text) {
  try {
    sorted_by(sorter, text);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}
}  // namespace

THREADED_TEST(rows_with_equal_keys_and_a_few_odd_ones_keep_their_order) {
  RandomSequence random(91);
  for (const std::uint64_t odd_one_in : {2, 50, 1'000, 100'000}) {
    const std::vector<Row> rows = random_rows(random, odd_one_in);
    check_order(rows, 1, KeyKind::number, &Row::number);
    check_order(rows, 2, KeyKind::text, &Row::text);
  }
}

// A wrong row may be in the sample or not.
THREADED_TEST(the_first_wrong_row_of_many_is_named) {
  RandomSequence random(92);
  std::vector<Row> rows = random_rows(random, 1'000);
  for (const std::size_t every : {30'000, 5}) {
    for (std::size_t i = 9'999; i < rows.size(); i += every) rows[i].line = "1,none,text\n";
    RunSorter sorter(order_by(1, KeyKind::number, false), false, 3);
    CHECK(failure_of(sorter, joined(rows)).starts_with("row 10000: 'none' is no"));
  }
}
