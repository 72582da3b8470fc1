#include "sortcore/keys/partition_text.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "keys/merge_lines.hpp"
#include "lines/newlines.hpp"
#include "sortcore/error.hpp"
#include "sortcore/keys/growing_bytes.hpp"
#include "sortcore/keys/line_encoder.hpp"
#include "sortcore/validation/crc32.hpp"

namespace sortcore {
namespace {

// Boundaries beside their keys.
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

  // How many boundaries the line is not below.
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
  LineEncoder encoder(order);
  GrowingBytes key;
  for (auto rest = text; !rest.empty();) {
    const auto line = take_line(rest, order.line_end);
    key.clear();
    encoder.append(line, key);
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
  LineEncoder encoder(order);
  GrowingBytes key, key_before;
  std::span<const std::byte> line_before;
  for (auto rest = text; !rest.empty();) {
    const auto line = take_line(rest, order.line_end);
    key.clear();
    encoder.append(line, key);
    if (summary.lines != 0) {
      const int sign = compare_lines({key_before.bytes(), line_before}, {key.bytes(), line}, order);
      summary.unordered += sign > 0;
      summary.duplicates += sign == 0;
    }
    summary.checksum += crc32(line);
    ++summary.lines;
    std::swap(key, key_before);
    line_before = line;
  }
  return summary;
}

}  // namespace sortcore
