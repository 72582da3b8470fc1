// Records in the two passes.
#include <algorithm>
#include <cstring>
#include <utility>

#include "sortcore/external/item_type.hpp"
#include "sortcore/records/partition.hpp"
#include "sortcore/records/record_sort.hpp"
#include "sortcore/records/splitters.hpp"

namespace sortcore {
namespace {

class RecordDivision : public Division {
 public:
  RecordDivision(const RecordFormat& format, const Splitters& splitters) : partitioner_(format, splitters) {}

  std::size_t partitions() const override { return partitioner_.partitions(); }
  bool holds_one_key(std::size_t partition) const override {
    return partitioner_.splitters().holds_one_key(partition);
  }
  std::unique_ptr<Distributor> distributor(ChunkStore& store,
                                           std::span<const ChunkStore::Partition> partitions,
                                           std::size_t grain_bytes) override {
    return std::make_unique<RecordDistributor>(store, partitioner_, partitions, grain_bytes);
  }
  std::uint64_t items(std::size_t /*partition*/, std::uint64_t bytes) const override {
    return bytes / partitioner_.format().record_bytes;
  }
  std::uint64_t scratch_bytes(std::uint64_t items, unsigned threads) const override {
    return sortcore::scratch_bytes(items, threads);
  }

 private:
  Partitioner partitioner_;
};

// Chunks of memory lie in any order, and a record's place breaks ties: so for a stable sort the contents
// change places, around one cycle of chunks after another.
void lay_in_order(ChunkStore& store, std::span<ChunkStore::FilledChunk> chunks) {
  std::vector<ChunkStore::Chunk> places;
  for (const ChunkStore::FilledChunk& filled : chunks) places.push_back(filled.chunk);
  std::ranges::sort(places);
  std::vector<std::byte> kept(store.chunk_bytes());
  const auto index_of = [&](ChunkStore::Chunk chunk) {
    return static_cast<std::size_t>(std::ranges::lower_bound(places, chunk) - places.begin());
  };
  // chunks[i] belongs at places[i]; chunks[occupant[i]] is there now.
  std::vector<std::size_t> occupant(chunks.size());
  for (std::size_t i = 0; i < chunks.size(); ++i) occupant[index_of(chunks[i].chunk)] = i;
  for (std::size_t start = 0; start < chunks.size(); ++start) {
    if (chunks[start].chunk == places[start]) continue;
    std::memcpy(kept.data(), store.data(places[start]), chunks[occupant[start]].bytes);
    const std::size_t saved = occupant[start];
    for (std::size_t to = start; to != saved;) {
      const std::size_t free = index_of(chunks[to].chunk);
      std::memcpy(store.data(places[to]), store.data(chunks[to].chunk), chunks[to].bytes);
      chunks[to].chunk = places[to];
      to = free;
    }
    std::memcpy(store.data(places[saved]), kept.data(), chunks[saved].bytes);
    chunks[saved].chunk = places[saved];
  }
}

class RecordPartitionSorter : public PartitionSorter {
 public:
  RecordPartitionSorter(const RecordFormat& format, unsigned threads, bool stable)
      : sorter_(format, threads), record_bytes_(format.record_bytes), stable_(stable) {}

  std::uint64_t sort(ChunkStore& store, std::span<ChunkStore::FilledChunk> chunks,
                     Progress* progress) override {
    if (stable_) lay_in_order(store, chunks);
    const RecordArray records(store.memory(), record_bytes_, store.chunk_bytes());
    std::vector<RecordRun> runs;
    for (const ChunkStore::FilledChunk& filled : chunks)
      runs.push_back({records.first_of_stretch(filled.chunk), filled.bytes / record_bytes_});
    std::ranges::sort(runs, {}, &RecordRun::first_record);
    sorter_.sort(records, runs, progress);
    return sorter_.records() * record_bytes_;
  }
  void gather(std::uint64_t from, std::span<std::byte> out) const override {
    sorter_.gather_bytes(from, out);
  }

 private:
  KeySorter sorter_;
  std::uint64_t record_bytes_;
  bool stable_;
};

class RecordItems : public ItemType {
 public:
  explicit RecordItems(const RecordFormat& format) : format_(format) {}

  std::unique_ptr<Division> divide(BlockSource& source, std::size_t partitions,
                                   std::uint64_t& bytes_read) const override {
    std::vector<std::byte> keys;
    std::uint64_t seed = 0;
    bytes_read += source.sample(sample_keys_per_partition * partitions,
                                [&](std::span<const std::byte> part, std::size_t wanted) {
                                  const std::size_t records = part.size() / format_.record_bytes;
                                  sample_keys(part.first(records * format_.record_bytes), format_,
                                              std::min(records, wanted), seed++, keys);
                                });
    return std::make_unique<RecordDivision>(format_, choose_splitters(keys, format_.key_bytes, partitions));
  }
  std::unique_ptr<PartitionSorter> sorter(unsigned threads, bool stable) const override {
    return std::make_unique<RecordPartitionSorter>(format_, threads, stable);
  }
  std::size_t sample_bytes_per_key(unsigned /*times*/) const override { return format_.record_bytes; }

 private:
  RecordFormat format_;
};

}  // namespace

std::unique_ptr<ItemType> record_items(const RecordFormat& format) {
  return std::make_unique<RecordItems>(format);
}

}  // namespace sortcore
