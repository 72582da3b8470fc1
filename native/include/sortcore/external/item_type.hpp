// Type of the items that two passes sort, records or lines, with its properties.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sortcore/external/block_source.hpp"
#include "sortcore/external/chunk_store.hpp"
#include "sortcore/external/distributor.hpp"
#include "sortcore/lines/line_format.hpp"
#include "sortcore/records/record_format.hpp"

namespace sortcore {

// The boundaries of one distribution, and the data distributed by them.
class Division {
 public:
  virtual ~Division() = default;
  virtual std::size_t partitions() const = 0;
  // Such a partition needs no sorting.
  virtual bool holds_one_key(std::size_t partition) const = 0;
  // A distributor for one thread; the division must outlive it.
  virtual std::unique_ptr<Distributor> distributor(ChunkStore& store,
                                                   std::span<const ChunkStore::Partition> partitions,
                                                   std::size_t grain_bytes) = 0;
  // Records or lines of a partition, once all is distributed, and the bytes of scratch that sorting them
  // takes.
  virtual std::uint64_t items(std::size_t partition, std::uint64_t bytes) const = 0;
  virtual std::uint64_t scratch_bytes(std::uint64_t items, unsigned threads) const = 0;
};

// Sorts one partition after another in place in memory.
class PartitionSorter {
 public:
  virtual ~PartitionSorter() = default;
  // Chunks in input order keep that order among equal keys; they may change places. Returns their bytes. All
  // threads of the sorter work. Throws Error(cancelled).
  virtual std::uint64_t sort(ChunkStore& store, std::span<ChunkStore::FilledChunk> chunks,
                             Progress* progress) = 0;
  // Fills `out` with the sorted partition from byte `from` on; threads may call at once.
  virtual void gather(std::uint64_t from, std::span<std::byte> out) const = 0;
};

// Keys drawn for each partition wanted.
inline constexpr std::size_t sample_keys_per_partition = 256;

class ItemType {
 public:
  virtual ~ItemType() = default;
  // Partitions of about equal size, from a sample; adds the bytes read for it.
  virtual std::unique_ptr<Division> divide(BlockSource& source, std::size_t partitions,
                                           std::uint64_t& bytes_read) const = 0;
  virtual std::unique_ptr<PartitionSorter> sorter(unsigned threads, bool stable) const = 0;
  // Bytes of a chunk to search for one key when a partition is split for the `times`th time.
  virtual std::size_t sample_bytes_per_key(unsigned times) const = 0;
};

std::unique_ptr<ItemType> record_items(const RecordFormat& format);
std::unique_ptr<ItemType> line_items(const LineFormat& format);

}  // namespace sortcore
