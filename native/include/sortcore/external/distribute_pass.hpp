// The first pass: readers, distributors, and writers of the data that memory cannot keep.
#pragma once

#include <vector>

#include "sortcore/external/block_source.hpp"
#include "sortcore/external/chunk_store.hpp"
#include "sortcore/external/division.hpp"
#include "sortcore/external/external_plan.hpp"
#include "sortcore/external/sort_report.hpp"

namespace sortcore {

// State that all passes of a sort share.
struct SortContext {
  const ExternalPlan& plan;
  Monitor& monitor;
  BlockPool& blocks;
  ChunkStore& store;
  Progress* progress;
};

// Reads all of `source` and leaves everything in `partitions[division's partition]` of the store. Of it
// `fresh_bytes` are not in the store's memory yet. Rethrows the first failure of any stage.
PhaseReport distribute(const SortContext& context, BlockSource& source, const Division& division,
                       std::span<const ChunkStore::Partition> partitions, std::uint64_t fresh_bytes);

}  // namespace sortcore
