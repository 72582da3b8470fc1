// Distributing a buffer of records over partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sortcore/records/record_format.hpp"
#include "sortcore/records/splitters.hpp"

namespace sortcore {

using PartitionId = std::uint16_t;
inline constexpr std::size_t max_partitions = 65'535;

// Classifies by the first eight key bytes, and reads the rest only on a tie. Immutable: threads may share
// one.
class Partitioner {
 public:
  // Throws Error(bad_input) for an impossible format, other key lengths than the splitters', or over
  // `max_partitions`.
  Partitioner(const RecordFormat& format, const Splitters& splitters);

  std::size_t partitions() const noexcept { return splitters_.partitions(); }
  const Splitters& splitters() const noexcept { return splitters_; }
  const RecordFormat& format() const noexcept { return format_; }

  // Writes the partition of every record to `ids` (one per record) and adds their numbers to `counts` (one
  // per partition).
  void classify(std::span<const std::byte> records, std::span<PartitionId> ids,
                std::span<std::uint64_t> counts) const;

  // Copies record i to cursors[ids[i]] and advances that cursor by a record, in input order. The caller
  // provides the room.
  void scatter(std::span<const std::byte> records, std::span<const PartitionId> ids,
               std::span<std::byte*> cursors) const;

  // Both steps: groups `in` by partition into `out` (of the same size) with `threads` threads, keeping the
  // input order within a partition. Returns partitions() + 1 record offsets: partition p is records
  // [offset[p], offset[p + 1]) of `out`.
  std::vector<std::uint64_t> group(std::span<const std::byte> in, std::span<std::byte> out,
                                   unsigned threads = 0) const;

 private:
  RecordFormat format_;
  Splitters splitters_;
  std::vector<std::uint64_t>
      prefixes_;  // of the boundary keys, padded to a power of two for a branch-free search
};

}  // namespace sortcore
