#include "keys/cut_text.hpp"

#include <algorithm>
#include <string_view>

#include "lines/quoted_lines.hpp"
#include "records/ordering.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

// As below, for rows of CSV. A stretch after an odd number of quotes begins within quotes.
std::vector<TextRun> cut_rows(std::span<const std::byte> text, std::byte quote, unsigned threads) {
  const std::size_t stretches = (text.size() + cut_bytes - 1) / cut_bytes;
  const auto stretch = [&](std::size_t i) {
    return text.subspan(i * cut_bytes, std::min(cut_bytes, text.size() - i * cut_bytes));
  };
  std::vector<std::uint8_t> flips(stretches);
  for_each_in_parallel(stretches, useful_threads(text.size() / 64, threads),
                       [&](std::uint64_t i) { flips[i] = flips_quotes(stretch(i), quote); });
  std::vector<TextRun> runs;
  std::size_t begin = 0;
  bool is_within = false;
  for (std::size_t i = 0; i < stretches; ++i) {
    is_within ^= flips[i] != 0;
    const bool is_last = i + 1 == stretches;
    const std::size_t whole = whole_quoted_lines(stretch(i), quote, is_within);
    const std::size_t end = is_last ? text.size() : i * cut_bytes + whole;
    if (end == begin || (whole == 0 && !is_last)) continue;
    runs.push_back({begin, end - begin});
    begin = end;
  }
  if (is_within) throw Error(ErrorCode::bad_record, "the last row has a quoted field that has no end");
  return runs;
}

// The end of the last line that ends in the first bytes of `text`, or of the first line if that is longer.
std::size_t whole_lines(std::span<const std::byte> text, std::byte line_end) {
  if (text.size() <= cut_bytes) return text.size();
  const std::string_view characters(reinterpret_cast<const char*>(text.data()), text.size());
  const char end = static_cast<char>(line_end);
  std::size_t last = characters.rfind(end, cut_bytes - 1);
  if (last == std::string_view::npos) last = characters.find(end, cut_bytes);
  return last == std::string_view::npos ? text.size() : last + 1;
}

std::vector<TextRun> cut_lines(std::span<const std::byte> text, std::byte line_end) {
  std::vector<TextRun> runs;
  for (std::size_t at = 0; at < text.size(); at += runs.back().bytes)
    runs.push_back({at, whole_lines(text.subspan(at), line_end)});
  return runs;
}

// As above, for records.
std::vector<TextRun> cut_records(std::span<const std::byte> text, std::uint64_t record_bytes) {
  const std::uint64_t whole = std::max<std::uint64_t>(cut_bytes / record_bytes, 1) * record_bytes;
  std::vector<TextRun> runs;
  for (std::size_t at = 0; at < text.size(); at += runs.back().bytes)
    runs.push_back({at, std::min<std::uint64_t>(whole, text.size() - at)});
  return runs;
}

}  // namespace

std::size_t whole_lines_end(std::span<const std::byte> text, const KeyOrder& order) {
  if (const auto quote = order.quote()) return whole_quoted_lines(text, *quote, flips_quotes(text, *quote));
  if (order.record_bytes != 0) return text.size() - text.size() % order.record_bytes;
  const std::string_view characters(reinterpret_cast<const char*>(text.data()), text.size());
  const std::size_t last = characters.rfind(static_cast<char>(order.line_end));
  return last == std::string_view::npos ? 0 : last + 1;
}

std::vector<TextRun> cut_text(std::span<const std::byte> text, const KeyOrder& order, unsigned threads) {
  if (order.csv) return cut_rows(text, order.csv->quote, threads);
  return order.record_bytes == 0 ? cut_lines(text, order.line_end) : cut_records(text, order.record_bytes);
}

}  // namespace sortcore
