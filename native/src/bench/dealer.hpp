// Records dealt to random partitions: a map phase's work without the map function and the key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "random_sequence.hpp"
#include "sortcore/gensort/generate.hpp"

namespace sortcore {

// One thread's partitions, each filling a chunk. They begin at different levels, as in the middle of a run;
// from equal levels all would fill up, and write, at the same moment.
class Dealer {
 public:
  static constexpr std::size_t record_bytes = generated_record_bytes;

  // `take_chunk()` returns the memory of an empty chunk.
  template <typename TakeChunk>
  Dealer(std::size_t partitions, std::size_t chunk_bytes, std::uint64_t seed, TakeChunk take_chunk)
      : chunk_bytes_(chunk_bytes), random_(seed) {
    const std::size_t records = chunk_bytes / record_bytes;
    for (std::size_t i = 0; i < partitions; ++i) {
      chunks_.push_back({take_chunk(), records * i / partitions * record_bytes});
    }
  }

  // Deals the records of a block; `exchange(partition, full)` takes a full chunk and returns an empty one.
  template <typename Exchange>
  void deal(const std::byte* block, std::size_t bytes, Exchange exchange) {
    for (const std::byte* record = block; record != block + bytes; record += record_bytes) {
      const auto partition = static_cast<std::size_t>(random_.below(chunks_.size()));
      Chunk& chunk = chunks_[partition];
      std::memcpy(chunk.data + chunk.used, record, record_bytes);
      chunk.used += record_bytes;
      if (chunk.used == chunk_bytes_) chunk = {exchange(partition, chunk.data), 0};
    }
  }

 private:
  struct Chunk {
    std::byte* data;
    std::size_t used;
  };

  std::size_t chunk_bytes_;
  RandomSequence random_;
  std::vector<Chunk> chunks_;
};

}  // namespace sortcore
