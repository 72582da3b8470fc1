// Text divided among partitions, each of which is sorted separately.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sortcore/keys/key_order.hpp"

namespace sortcore {

// The line with which a partition begins, or after which, if `is_above`.
struct TextBoundary {
  std::string line;  // without its end
  bool is_above = false;
};

// The size of the grouped lines of `text`: a last line without an end gets one.
std::uint64_t grouped_bytes(std::span<const std::byte> text, const KeyOrder& order) noexcept;

// Writes the lines of `text` to `out`, which has `grouped_bytes`, one partition after another, in their
// order. Returns where each partition begins, and the end of the last. Boundaries ascend. Throws
// Error(bad_input) for an `out` of another size, and Error(bad_record) for a wrong row of CSV.
std::vector<std::uint64_t> partition_text(std::span<const std::byte> text, std::span<std::byte> out,
                                          const KeyOrder& order, std::span<const TextBoundary> boundaries);

// Totals over lines, independent of how they are cut into texts.
struct TextSummary {
  std::uint64_t lines = 0;
  std::uint64_t checksum = 0;    // the sum of the CRC-32 of every line without its end
  std::uint64_t unordered = 0;   // lines that come before their predecessor
  std::uint64_t duplicates = 0;  // lines equal in order to their predecessor
  std::string first_line;        // without its end
  std::string last_line;
};
// Throws Error(bad_record) for a wrong row of CSV.
TextSummary summarize_text(std::span<const std::byte> text, const KeyOrder& order);

// The position after the first end of a line, none if there is none; for CSV `is_within` states whether the
// text begins, and afterwards whether the following text begins, within quotes.
struct LineEnd {
  std::optional<std::uint64_t> behind;
  bool is_within = false;
};
LineEnd find_line_end(std::span<const std::byte> text, const KeyOrder& order, bool is_within);

// True if the text after this CSV text, which begins within quotes or not, is within quotes.
bool is_within_quotes_behind(std::span<const std::byte> text, const KeyOrder& order, bool is_within);

// The first lines of a text, without their ends. A CSV row without its end does not count.
std::vector<std::string> first_lines(std::span<const std::byte> text, const KeyOrder& order,
                                     std::uint64_t most);

}  // namespace sortcore
