// The second pass: loaders, a sorter, and writers at final offsets.
#pragma once

#include <span>
#include <vector>

#include "sortcore/external/distribute_pass.hpp"
#include "sortcore/external/output_stream.hpp"
#include "sortcore/external/partition_sorter.hpp"

namespace sortcore {

// A partition on its way to an output.
struct OutputPartition {
  ChunkStore::Partition partition;
  std::size_t output;
  bool holds_one_key;  // needs no sorting, and no room for all of it
};

// Loads, sorts and writes `partitions`, given in processing order; those of one output in its order. May be
// called for one stretch of partitions after another. Rethrows the first failure of any stage.
PhaseReport write_partitions(const SortContext& context, std::span<const OutputPartition> partitions,
                             std::span<OutputStream> outputs, PartitionSorter& sorter);

}  // namespace sortcore
