// Lines in the two passes.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "lines/newlines.hpp"
#include "sortcore/error.hpp"
#include "sortcore/external/item_type.hpp"
#include "sortcore/lines/line_sort.hpp"
#include "sortcore/lines/line_splitters.hpp"
#include "sortcore/lines/line_stretch.hpp"

namespace sortcore {
namespace {

// Counts of a division's lines, by partition.
using Counts = std::vector<std::atomic<std::uint64_t>>;

class LineDistributor : public Distributor {
 public:
  LineDistributor(ChunkStore& store, std::span<const ChunkStore::Partition> partitions,
                  std::size_t grain_bytes, const LineFormat& format, const LineSplitters& splitters,
                  Counts& counts)
      : Distributor(store, partitions, grain_bytes),
        format_(format),
        splitters_(splitters),
        counts_(counts),
        mine_(partitions.size()) {}
  ~LineDistributor() override {
    for (std::size_t i = 0; i < mine_.size(); ++i) counts_[i] += mine_[i];
  }

  void add(const SourceBlock& block, StageClock& clock) override {
    std::span<const std::byte> rest = block.content;
    while (!rest.empty()) {
      const std::uint64_t offset = block.offset + block.content.size() - rest.size();
      const std::span<const std::byte> line = take_line(rest);
      const std::size_t bytes = line.size() + 1;
      if (bytes > chunk_bytes()) throw_line_too_long(*block.path, offset, chunk_bytes());
      const std::size_t partition = splitters_.partition_of(format_.key_of(line));
      Open& to = open(partition);
      if (bytes > static_cast<std::size_t>(to.end - to.next)) renew(partition, bytes, clock);
      std::memcpy(to.next, line.data(), bytes);
      to.next += bytes;
      ++mine_[partition];
    }
    clock.bytes += block.content.size();
  }

 private:
  LineFormat format_;
  const LineSplitters& splitters_;
  Counts& counts_;
  std::vector<std::uint64_t> mine_;
};

class LineDivision : public Division {
 public:
  LineDivision(const LineFormat& format, LineSplitters splitters)
      : format_(format), splitters_(std::move(splitters)), counts_(splitters_.partitions()) {}

  std::size_t partitions() const override { return splitters_.partitions(); }
  bool holds_one_key(std::size_t partition) const override { return splitters_.holds_one_key(partition); }
  std::unique_ptr<Distributor> distributor(ChunkStore& store,
                                           std::span<const ChunkStore::Partition> partitions,
                                           std::size_t grain_bytes) override {
    return std::make_unique<LineDistributor>(store, partitions, grain_bytes, format_, splitters_, counts_);
  }
  std::uint64_t items(std::size_t partition, std::uint64_t /*bytes*/) const override {
    return counts_[partition];
  }
  std::uint64_t scratch_bytes(std::uint64_t items, unsigned threads) const override {
    return line_scratch_bytes(items, threads);
  }

 private:
  LineFormat format_;
  LineSplitters splitters_;
  Counts counts_;
};

// Chunks are runs of text, numbered in order of arrival: a stable sort needs nothing more.
class LinePartitionSorter : public PartitionSorter {
 public:
  LinePartitionSorter(const LineFormat& format, unsigned threads) : sorter_(format, threads) {}

  std::uint64_t sort(ChunkStore& store, std::span<ChunkStore::FilledChunk> chunks,
                     Progress* progress) override {
    std::vector<TextRun> runs;
    for (const ChunkStore::FilledChunk& filled : chunks)
      runs.push_back({std::uint64_t{filled.chunk} * store.chunk_bytes(), filled.bytes});
    sorter_.sort(store.memory(), runs, progress);
    return sorter_.bytes();
  }
  void gather(std::uint64_t from, std::span<std::byte> out) const override { sorter_.gather(from, out); }

 private:
  LineSorter sorter_;
};

class LineItems : public ItemType {
 public:
  explicit LineItems(const LineFormat& format) : format_(format) {}

  std::unique_ptr<Division> divide(BlockSource& source, std::size_t partitions,
                                   std::uint64_t& bytes_read) const override {
    std::vector<std::string> keys;
    bytes_read += source.sample(
        sample_keys_per_partition * partitions,
        [&](std::span<const std::byte> part, std::size_t wanted) { add_keys(part, wanted, keys); });
    return std::make_unique<LineDivision>(format_, LineSplitters(std::move(keys), partitions));
  }
  std::unique_ptr<PartitionSorter> sorter(unsigned threads, bool /*stable*/) const override {
    return std::make_unique<LinePartitionSorter>(format_, threads);
  }
  // The second time all of it; otherwise lines with a long common beginning might stay together for ever.
  std::size_t sample_bytes_per_key(unsigned times) const override {
    constexpr std::size_t usual_bytes = 1024, more_than_a_chunk = 1 << 24;
    return times < 2 ? usual_bytes : more_than_a_chunk;
  }

 private:
  // Every `step`th line of `part`, including the first. The last may be cut, which does no harm: a boundary
  // need not be a key.
  void add_keys(std::span<const std::byte> part, std::size_t wanted, std::vector<std::string>& keys) const {
    const std::uint64_t step = count_newlines(part) / wanted + 1;
    for (std::uint64_t number = 0; !part.empty(); ++number) {
      const std::span<const std::byte> line = take_line(part);
      if (number % step == 0) {
        const std::span<const std::byte> key = format_.key_of(line);
        keys.emplace_back(reinterpret_cast<const char*>(key.data()), key.size());
      }
    }
  }

  LineFormat format_;
};

}  // namespace

std::unique_ptr<ItemType> line_items(const LineFormat& format) { return std::make_unique<LineItems>(format); }

}  // namespace sortcore
