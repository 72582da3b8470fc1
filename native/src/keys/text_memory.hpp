// Division of the memory of a text sort, and the lines that are too long for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sortcore/keys/key_order.hpp"

namespace sortcore {

// Memory independent of the number of lines: work space of the threads, blocks to write, rounding to huge
// pages.
std::uint64_t fixed_bytes(unsigned threads);

// Bytes of text that fit into memory along with the work space of their sort, estimated from the first lines;
// at least two megabytes.
std::uint64_t text_bytes_for(std::span<const std::byte> head, const KeyOrder& order,
                             std::uint64_t memory_bytes, unsigned threads);

// A long line: where it begins in its input or in a text, and the bytes of it and its keys.
struct LongLine {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t key_bytes = 0;
};

// Limits for lines.
class LineLimits {
 public:
  // Keys of a line exist up to four times while they are made: without quotes, translated, encoded, kept.
  static constexpr std::uint64_t key_copies = 4;

  LineLimits(const KeyOrder& order, bool unique, std::uint64_t memory_bytes, unsigned threads);

  // A line of known length only: its keys may have as many bytes.
  LongLine unread(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  // Bytes of text that can be read to find the end of a line.
  std::uint64_t most_text_bytes() const noexcept;
  // A stream's memory for the line while runs are merged, in addition to its first buffer.
  std::uint64_t merge_bytes(const LongLine& line) const noexcept;
  // Limit of that over all merged streams.
  std::uint64_t most_merge_bytes() const noexcept { return memory_bytes_ / 8 * 7; }
  // As above, for merged inputs whose lines are unknown: their buffers have half.
  std::uint64_t most_unforeseen_bytes() const noexcept { return memory_bytes_ / 8 * 3; }

  // Sufficient memory for a line next to text with its share of memory; to merge runs; to merge inputs.
  std::uint64_t needed_to_sort(const LongLine& line, double text_share) const noexcept;
  std::uint64_t needed_to_merge(std::uint64_t merge_bytes) const noexcept;
  std::uint64_t needed_for_unforeseen(std::uint64_t merge_bytes) const noexcept;

  // Throws Error(too_little_memory) with the line, and a sufficient amount.
  [[noreturn]] void refuse(const std::string& path, const LongLine& line, std::uint64_t needed_bytes) const;

 private:
  KeyOrder order_;
  bool unique_;
  std::uint64_t memory_bytes_;
  std::uint64_t fixed_bytes_;
};

}  // namespace sortcore
