// One thread's share of the first pass: records to the chunks of their partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sortcore/external/chunk_store.hpp"
#include "sortcore/partition.hpp"

namespace sortcore {

// Fills one chunk per partition of its own, so that threads meet only when a chunk is full.
class Distributor {
 public:
  // `partitions[i]` is the store's number of the partitioner's partition i.
  Distributor(ChunkStore& store, const Partitioner& partitioner,
              std::span<const ChunkStore::Partition> partitions, std::size_t grain_bytes);

  void add(std::span<const std::byte> records, StageClock& clock);
  // Hands over the chunks that are not full.
  void finish();

 private:
  struct Open {
    std::byte* next = nullptr;  // where the next record goes; equal to `end` when there is no room
    std::byte* end = nullptr;
    ChunkStore::Chunk chunk = 0;
    bool has_chunk = false;
  };
  void copy_records(std::span<const std::byte> records, StageClock& clock);
  void hand_over(std::size_t index);
  void renew(std::size_t index, StageClock& clock);
  std::size_t first_capacity(std::size_t index) const noexcept;

  ChunkStore& store_;
  const Partitioner& partitioner_;
  std::vector<ChunkStore::Partition> partitions_;
  std::size_t grain_bytes_;
  std::vector<Open> open_;
  std::vector<bool> begun_;
  std::vector<PartitionId> ids_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace sortcore
