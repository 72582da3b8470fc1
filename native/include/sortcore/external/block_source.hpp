// Sources of records for a distribution pass, block by block.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sortcore/external/chunk_store.hpp"
#include "sortcore/external/external_plan.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/records/record_format.hpp"

namespace sortcore {

struct SourceBlock {
  std::span<const std::byte> content;  // whole records
  std::uint64_t sequence = 0;          // number of the block within its source, in input order, from 0
};

class BlockSource {
 public:
  virtual ~BlockSource() = default;
  // Reads the next block into `into`, which has room for a block of the plan; nothing at the end. Threads may
  // call at once.
  virtual std::optional<SourceBlock> next(std::byte* into, StageClock& clock) = 0;
  // Passes `visit` evenly spread parts of the source, each beginning with a whole record, and the
  // number of keys wanted from each; `count` of them in all. Returns the bytes read for it.
  using Visit = std::function<void(std::span<const std::byte> part, std::size_t keys)>;
  virtual std::uint64_t sample(std::size_t count, const Visit& visit) = 0;
};

struct InputFile {
  File* file;
  std::uint64_t bytes;
};

// Input files, read in turn so that several disks work at once, or one after another where order counts.
//
// Blocks hold whole records. A direct read begins with the page of the block's first record: if the block
// before ends in that page, the page is read twice.
class FilesSource : public BlockSource {
 public:
  FilesSource(std::vector<InputFile> inputs, const RecordFormat& format, const ExternalPlan& plan);

  std::optional<SourceBlock> next(std::byte* into, StageClock& clock) override;
  std::uint64_t sample(std::size_t count, const Visit& visit) override;
  // Throws Error(io) if the length of an input has changed.
  void check_sizes() const;

 private:
  struct SampleSpot {
    File* file;
    std::uint64_t offset;
    std::size_t bytes;
  };
  struct Piece {
    std::uint64_t sequence;
    std::uint32_t input;
    std::uint64_t offset;
    std::size_t bytes;
  };
  std::span<const std::byte> whole_records(std::span<const std::byte> window, std::uint64_t offset) const;
  std::uint64_t visit_spots(std::span<const SampleSpot> spots, std::size_t window_bytes, std::size_t keys,
                            const Visit& visit) const;

  std::vector<InputFile> inputs_;
  RecordFormat format_;
  std::vector<Piece> pieces_;
  std::atomic<std::size_t> next_{0};
};

// A partition to be split again.
class PartitionSource : public BlockSource {
 public:
  // `sample_bytes` of a chunk are searched for each key wanted from it.
  PartitionSource(ChunkStore& store, ChunkStore::Partition partition, std::size_t sample_bytes, bool in_order)
      : store_(store), partition_(partition), sample_bytes_(sample_bytes), in_order_(in_order) {}

  std::optional<SourceBlock> next(std::byte* into, StageClock& clock) override;
  std::uint64_t sample(std::size_t count, const Visit& visit) override;

 private:
  ChunkStore& store_;
  ChunkStore::Partition partition_;
  std::size_t sample_bytes_;
  bool in_order_;
};

}  // namespace sortcore
