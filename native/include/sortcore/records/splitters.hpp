// Boundaries between partitions, chosen from a sample of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sortcore/records/record_format.hpp"

namespace sortcore {

// Partition p holds the keys at or above boundary p - 1 and below boundary p. A key so frequent that it would
// fill a partition gets its own between two boundaries on the same key, `before` and `after` it; such a
// partition needs no sorting.
class Splitters {
 public:
  enum class Side : std::uint8_t { before, after };

  // No boundary: one partition.
  explicit Splitters(std::uint32_t key_bytes) : key_bytes_(key_bytes) {}

  // Adds a boundary; keys must come in ascending order (before < after on one key). Throws Error(bad_input)
  // otherwise.
  void add(std::span<const std::byte> key, Side side);

  std::uint32_t key_bytes() const noexcept { return key_bytes_; }
  std::size_t boundaries() const noexcept { return sides_.size(); }
  std::size_t partitions() const noexcept { return sides_.size() + 1; }
  std::span<const std::byte> key(std::size_t boundary) const noexcept {
    return {keys_.data() + boundary * key_bytes_, key_bytes_};
  }
  Side side(std::size_t boundary) const noexcept { return sides_[boundary]; }

  // True when every record of this partition has the same key.
  bool holds_one_key(std::size_t partition) const noexcept;

  // True when a key belongs to a partition above this boundary.
  bool is_above(const std::byte* key, std::size_t boundary) const noexcept;

  // The partition of a key (`key_bytes` long). Partitioner does the same for many records at once, faster.
  std::size_t partition_of(const std::byte* key) const noexcept;

 private:
  std::uint32_t key_bytes_;
  std::vector<std::byte> keys_;
  std::vector<Side> sides_;
};

// Bytes for parse_splitters: of each boundary its side, a byte, and then its key.
std::vector<std::byte> serialize_splitters(const Splitters& splitters);

// The inverse of serialize_splitters. Throws Error(bad_record) for half a boundary or an unknown side,
// Error(bad_input) for keys that do not ascend.
Splitters parse_splitters(std::span<const std::byte> bytes, std::uint32_t key_bytes);

// About `partitions` partitions of equal weight from `sample`: keys of `key_bytes` one after another, in any
// order, drawn evenly from the input. Heavy keys are set apart, so there may be up to twice as many
// partitions, and fewer when there are few distinct keys. Needs some 12 bytes a key in addition to the
// sample. Throws Error(bad_record) for half a key, Error(bad_input) for 0 partitions or more than
// max_records_in_memory keys.
Splitters choose_splitters(std::span<const std::byte> sample, std::uint32_t key_bytes,
                           std::size_t partitions);

// Appends to `sample` the keys of `count` records drawn evenly from `records`; deterministic for a `seed`.
void sample_keys(std::span<const std::byte> records, const RecordFormat& format, std::size_t count,
                 std::uint64_t seed, std::vector<std::byte>& sample);

}  // namespace sortcore
