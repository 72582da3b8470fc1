// Where a distribution pass reads its records from, block by block.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sortcore/external/chunk_store.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/record_format.hpp"

namespace sortcore {

class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // Reads the next block (whole records) into `into`, which has room for a block; returns its bytes, or
  // nothing at the end. Threads may call at once.
  virtual std::optional<std::size_t> next(std::byte* into, StageClock& clock) = 0;
  // Appends about `count` keys, drawn evenly. Returns the bytes read for it.
  virtual std::uint64_t sample(std::size_t count, std::vector<std::byte>& keys) = 0;
};

// Input files, read in turn so that several disks work at once.
class FilesSource : public BlockSource {
 public:
  struct Input {
    File* file;
    std::uint64_t bytes;
  };
  FilesSource(std::vector<Input> inputs, const RecordFormat& format, std::size_t block_bytes);

  std::optional<std::size_t> next(std::byte* into, StageClock& clock) override;
  std::uint64_t sample(std::size_t count, std::vector<std::byte>& keys) override;
  // Throws Error(io) if an input is no longer as long as it was.
  void check_sizes() const;

 private:
  struct Piece {
    std::uint32_t input;
    std::uint64_t offset;
    std::size_t bytes;
  };
  std::vector<Input> inputs_;
  RecordFormat format_;
  std::vector<Piece> pieces_;
  std::atomic<std::size_t> next_{0};
};

// A partition that has to be split again.
class PartitionSource : public BlockSource {
 public:
  PartitionSource(ChunkStore& store, ChunkStore::Partition partition, const RecordFormat& format)
      : store_(store), partition_(partition), format_(format) {}

  std::optional<std::size_t> next(std::byte* into, StageClock& clock) override;
  std::uint64_t sample(std::size_t count, std::vector<std::byte>& keys) override;

 private:
  ChunkStore& store_;
  ChunkStore::Partition partition_;
  RecordFormat format_;
};

}  // namespace sortcore
