// One thread's share of the first pass: distribution of records to the chunks of their partitions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sortcore/external/block_source.hpp"
#include "sortcore/external/chunk_store.hpp"
#include "sortcore/records/partition.hpp"

namespace sortcore {

// Fills its own chunk per partition, so that threads meet only when a chunk is full.
class Distributor {
 public:
  // `partitions[i]` is the store's number of the partitioner's partition i.
  Distributor(ChunkStore& store, const Partitioner& partitioner,
              std::span<const ChunkStore::Partition> partitions, std::size_t grain_bytes);
  Distributor(const Distributor&) = delete;
  Distributor& operator=(const Distributor&) = delete;

  void add(const SourceBlock& block, StageClock& clock);
  // Hands over the partly filled chunks.
  void finish();

 private:
  struct Open {
    std::byte* next = nullptr;  // place of the next record; equal to `end` when there is no room
    std::byte* end = nullptr;
    ChunkStore::Chunk chunk = 0;
    bool has_chunk = false;
  };

  void copy_records(std::span<const std::byte> records, StageClock& clock);
  // Makes room for at least a record.
  void renew(std::size_t index, StageClock& clock);
  void hand_over(std::size_t index);
  std::size_t first_capacity(std::size_t index) const noexcept;

  ChunkStore& store_;
  const Partitioner& partitioner_;
  std::size_t capacity_;  // of a chunk
  bool spreads_;          // the moments at which chunks are full
  std::vector<ChunkStore::Partition> partitions_;
  std::size_t grain_bytes_;
  std::vector<Open> open_;
  std::vector<std::uint32_t> begun_;  // chunks of each partition so far
  std::vector<PartitionId> ids_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace sortcore
