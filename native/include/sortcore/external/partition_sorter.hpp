// Sorts one partition after another in memory, in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sortcore/external/chunk_store.hpp"
#include "sortcore/records/record_format.hpp"
#include "sortcore/records/record_sort.hpp"

namespace sortcore {

class PartitionSorter {
 public:
  PartitionSorter(const RecordFormat& format, unsigned threads, bool stable)
      : sorter_(format, threads), record_bytes_(format.record_bytes), stable_(stable) {}

  // Chunks in input order keep that order among equal keys; they may change places. Returns their bytes. All
  // threads of the sorter work. Throws Error(cancelled).
  std::uint64_t sort(ChunkStore& store, std::span<ChunkStore::FilledChunk> chunks, Progress* progress);
  // Fills `out` with the sorted partition from byte `from` on; threads may call at once.
  void gather(std::uint64_t from, std::span<std::byte> out) const { sorter_.gather_bytes(from, out); }

 private:
  KeySorter sorter_;
  std::uint64_t record_bytes_;
  bool stable_;
};

}  // namespace sortcore
