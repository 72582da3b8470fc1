#include "sortcore/keys/partition_text.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "keys/ended_lines.hpp"
#include "keys/merge_lines.hpp"
#include "sortcore/error.hpp"
#include "sortcore/keys/growing_bytes.hpp"
#include "sortcore/keys/line_encoder.hpp"
#include "sortcore/validation/crc32.hpp"

namespace sortcore {
namespace {

// Boundaries with their keys.
class Boundaries {
 public:
  Boundaries(std::span<const TextBoundary> given, const KeyOrder& order) : given_(given), order_(order) {
    LineEncoder encoder(order);
    ends_.push_back(0);
    for (const TextBoundary& boundary : given) {
      encoder.append(std::as_bytes(std::span(boundary.line)), keys_);
      ends_.push_back(keys_.size());
    }
  }

  // The number of boundaries that the line is not below.
  std::size_t partition_of(const KeyedLine& line) const noexcept {
    std::size_t first = 0, last = given_.size();
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      if (is_below(line, middle)) {
        last = middle;
      } else {
        first = middle + 1;
      }
    }
    return first;
  }

 private:
  bool is_below(const KeyedLine& line, std::size_t boundary) const noexcept {
    const auto key = keys_.bytes().subspan(ends_[boundary], ends_[boundary + 1] - ends_[boundary]);
    const KeyedLine there{key, std::as_bytes(std::span(given_[boundary].line))};
    const int sign = compare_lines(line, there, order_);
    return sign < 0 || (sign == 0 && given_[boundary].is_above);
  }

  std::span<const TextBoundary> given_;
  const KeyOrder& order_;
  GrowingBytes keys_;
  std::vector<std::size_t> ends_;
};

// Takes the lines of a text one by one, each with its key.
class KeyedLines {
 public:
  KeyedLines(std::span<const std::byte> text, const KeyOrder& order)
      : rest_(text), order_(order), encoder_(order) {}

  // Returns false at the end; blank lines among rows of CSV are left out. The key is valid until the next
  // call.
  bool next(GrowingBytes& key) {
    do {
      if (rest_.empty()) return false;
      const auto begin = rest_;
      const auto line = take_ended_line(rest_, order_);
      if (!line) throw Error(ErrorCode::bad_record, shown(begin) + ": a quoted field has no end");
      line_ = *line;
    } while (order_.csv && order_.csv->is_blank(line_));
    key.clear();
    try {
      encoder_.append(line_, key);
    } catch (const Error& error) {
      throw Error(error.code(), shown(line_) + ": " + error.what());
    }
    return true;
  }
  std::span<const std::byte> line() const noexcept { return line_; }

 private:
  static std::string shown(std::span<const std::byte> line) {
    constexpr std::size_t most = 80;
    const std::string text(reinterpret_cast<const char*>(line.data()), std::min(line.size(), most));
    return "row '" + text + (line.size() > most ? "...'" : "'");
  }

  std::span<const std::byte> rest_, line_;
  const KeyOrder& order_;
  LineEncoder encoder_;
};

std::string text_of(std::span<const std::byte> line) {
  return {reinterpret_cast<const char*>(line.data()), line.size()};
}

}  // namespace

std::uint64_t grouped_bytes(std::span<const std::byte> text, const KeyOrder& order) noexcept {
  return text.size() + (!text.empty() && text.back() != order.line_end);
}

std::vector<std::uint64_t> partition_text(std::span<const std::byte> text, std::span<std::byte> out,
                                          const KeyOrder& order, std::span<const TextBoundary> boundaries) {
  if (out.size() != grouped_bytes(text, order))
    throw Error(ErrorCode::bad_input, "the lines take " + std::to_string(grouped_bytes(text, order)) +
                                          " bytes, and there is room for " + std::to_string(out.size()));
  const Boundaries limits(boundaries, order);
  std::vector<std::uint64_t> begins(boundaries.size() + 2, 0);
  std::vector<std::pair<std::span<const std::byte>, std::size_t>> lines;
  GrowingBytes key;
  for (KeyedLines keyed(text, order); keyed.next(key);) {
    const auto line = keyed.line();
    const std::size_t partition = limits.partition_of({key.bytes(), line});
    lines.emplace_back(line, partition);
    begins[partition + 1] += line.size() + 1;
  }
  for (std::size_t partition = 0; partition + 1 < begins.size(); ++partition)
    begins[partition + 1] += begins[partition];
  std::vector<std::uint64_t> next(begins.begin(), begins.end() - 1);
  for (const auto& [line, partition] : lines) {
    std::byte* const to = out.data() + next[partition];
    if (!line.empty()) std::memcpy(to, line.data(), line.size());
    to[line.size()] = order.line_end;
    next[partition] += line.size() + 1;
  }
  return begins;
}

TextSummary summarize_text(std::span<const std::byte> text, const KeyOrder& order) {
  TextSummary summary;
  GrowingBytes key, key_before;
  std::span<const std::byte> line_before;
  for (KeyedLines keyed(text, order); keyed.next(key);) {
    const auto line = keyed.line();
    if (summary.lines == 0) {
      summary.first_line = text_of(line);
    } else {
      const int sign = compare_lines({key_before.bytes(), line_before}, {key.bytes(), line}, order);
      summary.unordered += sign > 0;
      summary.duplicates += sign == 0;
    }
    summary.checksum += crc32(line);
    ++summary.lines;
    std::swap(key, key_before);
    line_before = line;
  }
  summary.last_line = text_of(line_before);
  return summary;
}

LineEnd find_line_end(std::span<const std::byte> text, const KeyOrder& order, bool is_within) {
  if (text.empty()) return {std::nullopt, is_within};
  const std::byte* const begin = text.data();
  const auto* const end =
      order.csv
          ? find_quoted_end(begin, begin + text.size(), order.csv->quote, is_within)
          : static_cast<const std::byte*>(std::memchr(begin, static_cast<int>(order.line_end), text.size()));
  if (end == nullptr) return {std::nullopt, is_within};
  return {static_cast<std::uint64_t>(end - begin) + 1, false};
}

std::vector<std::string> first_lines(std::span<const std::byte> text, const KeyOrder& order,
                                     std::uint64_t most) {
  std::vector<std::string> lines;
  while (!text.empty() && lines.size() < most) {
    const auto line = take_ended_line(text, order);
    if (!line) break;
    lines.push_back(text_of(*line));
  }
  return lines;
}

bool is_within_quotes_behind(std::span<const std::byte> text, const KeyOrder& order, bool is_within) {
  return order.csv && flips_quotes(text, order.csv->quote) != is_within;
}

}  // namespace sortcore
