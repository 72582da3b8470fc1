// Text divided among partitions, each of which is sorted apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sortcore/keys/key_order.hpp"

namespace sortcore {

// The line from which on a partition begins, or behind which, if `is_above`.
struct TextBoundary {
  std::string line;  // without its end
  bool is_above = false;
};

// The bytes that the grouped lines of `text` take: a last line without an end gets one.
std::uint64_t grouped_bytes(std::span<const std::byte> text, const KeyOrder& order) noexcept;

// Writes the lines of `text` to `out`, which has `grouped_bytes`, one partition after another, in their
// order. Returns where each partition begins, and the end of the last. Boundaries ascend. Throws
// Error(bad_input) for an `out` of another size, and Error(bad_record) for a wrong row of CSV.
std::vector<std::uint64_t> partition_text(std::span<const std::byte> text, std::span<std::byte> out,
                                          const KeyOrder& order, std::span<const TextBoundary> boundaries);

// What lines hold together, wherever they are cut into texts.
struct TextSummary {
  std::uint64_t lines = 0;
  std::uint64_t checksum = 0;    // the sum of the CRC-32 of every line without its end
  std::uint64_t unordered = 0;   // lines that come before the one in front of them
  std::uint64_t duplicates = 0;  // lines whose order is that of the one in front of them
  std::string first_line;        // without its end
  std::string last_line;
};
// Throws Error(bad_record) for a wrong row of CSV.
TextSummary summarize_text(std::span<const std::byte> text, const KeyOrder& order);

// Behind the first end of a line, none if there is none; of CSV `is_within` says whether the text begins, and
// then whether what follows it begins, within quotes.
struct LineEnd {
  std::optional<std::uint64_t> behind;
  bool is_within = false;
};
LineEnd find_line_end(std::span<const std::byte> text, const KeyOrder& order, bool is_within);

// Whether what follows a text of CSV, which begins within quotes or not, is within quotes.
bool is_within_quotes_behind(std::span<const std::byte> text, const KeyOrder& order, bool is_within);

// The first lines of a text, without their ends. A row of CSV that lacks its end is none.
std::vector<std::string> first_lines(std::span<const std::byte> text, const KeyOrder& order,
                                     std::uint64_t most);

}  // namespace sortcore
