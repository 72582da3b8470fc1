#include "sortcore/external/partition_sorter.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sortcore {
namespace {

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

}  // namespace

std::uint64_t PartitionSorter::sort(ChunkStore& store, std::span<ChunkStore::FilledChunk> chunks,
                                    Progress* progress) {
  if (stable_) lay_in_order(store, chunks);
  const RecordArray records(store.memory(), record_bytes_, store.chunk_bytes());
  std::vector<RecordRun> runs;
  for (const ChunkStore::FilledChunk& filled : chunks)
    runs.push_back({records.first_of_stretch(filled.chunk), filled.bytes / record_bytes_});
  std::ranges::sort(runs, {}, &RecordRun::first_record);
  sorter_.sort(records, runs, progress);
  return sorter_.records() * record_bytes_;
}

}  // namespace sortcore
