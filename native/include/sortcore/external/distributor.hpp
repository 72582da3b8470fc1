// One thread's share of the first pass: distribution of records or lines to the chunks of their partitions.
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
  virtual ~Distributor() = default;
  Distributor(const Distributor&) = delete;
  Distributor& operator=(const Distributor&) = delete;

  virtual void add(const SourceBlock& block, StageClock& clock) = 0;
  // Hands over the partly filled chunks.
  void finish();

 protected:
  struct Open {
    std::byte* next = nullptr;  // place of the next record; equal to `end` when there is no room
    std::byte* end = nullptr;
    ChunkStore::Chunk chunk = 0;
    bool has_chunk = false;
  };
  // `partitions[i]` is the store's number of partition i of the division.
  Distributor(ChunkStore& store, std::span<const ChunkStore::Partition> partitions, std::size_t grain_bytes);

  Open& open(std::size_t index) noexcept { return open_[index]; }
  // Makes room for at least `least_bytes`, which a chunk must hold.
  void renew(std::size_t index, std::size_t least_bytes, StageClock& clock);
  std::size_t chunk_bytes() const noexcept { return store_.chunk_bytes(); }

 private:
  void hand_over(std::size_t index);
  std::size_t first_capacity(std::size_t index) const noexcept;

  ChunkStore& store_;
  std::size_t capacity_;  // of a chunk
  bool spreads_;          // the moments at which chunks are full
  std::vector<ChunkStore::Partition> partitions_;
  std::size_t grain_bytes_;
  std::vector<Open> open_;
  std::vector<std::uint32_t> begun_;  // chunks of each partition so far
};

class RecordDistributor : public Distributor {
 public:
  RecordDistributor(ChunkStore& store, const Partitioner& partitioner,
                    std::span<const ChunkStore::Partition> partitions, std::size_t grain_bytes);
  void add(const SourceBlock& block, StageClock& clock) override;

 private:
  void copy_records(std::span<const std::byte> records, StageClock& clock);

  const Partitioner& partitioner_;
  std::vector<PartitionId> ids_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace sortcore
