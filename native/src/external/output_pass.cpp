#include "sortcore/external/output_pass.hpp"

#include <algorithm>
#include <cstring>

namespace sortcore {
namespace {

struct OutputClocks {
  StageClock loading;
  StageClock sorting;
  StageClock gathering;
  StageClock writing;
};

class PartitionWriter {
 public:
  PartitionWriter(const SortContext& context, std::span<OutputStream> outputs, PartitionSorter& sorter,
                  WriteQueue& queue, OutputClocks& clocks)
      : context_(context), outputs_(outputs), sorter_(sorter), queue_(queue), clocks_(clocks) {}

  void write(const OutputPartition& partition) {
    if (!partition.holds_one_key) return sort_and_gather(partition);
    if (context_.plan.stable) return copy_in_order(partition);
    copy_through(partition);
  }

 private:
  void sort_and_gather(const OutputPartition& partition) {
    std::vector<ChunkStore::FilledChunk> chunks;
    const std::uint64_t bytes = sort(partition, chunks);
    outputs_[partition.output].append(
        bytes, context_.plan.threads, queue_, clocks_.gathering,
        [&](std::uint64_t from, std::span<std::byte> out) { sorter_.gather(from, out); });
    for (const ChunkStore::FilledChunk& filled : chunks) context_.store.release(filled.chunk);
  }

  std::uint64_t sort(const OutputPartition& partition, std::vector<ChunkStore::FilledChunk>& chunks) {
    const LifeTimer timer(clocks_.sorting);
    chunks = context_.store.take(partition.partition, clocks_.sorting);
    std::ranges::sort(chunks, {}, &ChunkStore::FilledChunk::sequence);
    const std::uint64_t bytes = sorter_.sort(context_.store, chunks, context_.progress);
    clocks_.sorting.bytes += bytes;
    return bytes;
  }

  void copy_through(const OutputPartition& partition) {
    while (const auto filled = take_any(partition)) {
      copy(partition, {context_.store.data(filled->chunk), filled->bytes});
      context_.store.release(filled->chunk);
    }
  }

  // The next chunk may be on disk while memory is full of later ones, so each is read only when its turn
  // comes.
  void copy_in_order(const OutputPartition& partition) {
    Buffer chunk(context_.store.chunk_bytes());
    while (const auto drained =
               context_.store.drain(partition.partition, chunk.data(), clocks_.sorting, true))
      copy(partition, chunk.first(drained->bytes));
  }

  void copy(const OutputPartition& partition, std::span<const std::byte> from) {
    outputs_[partition.output].append(from.size(), 1, queue_, clocks_.gathering,
                                      [&](std::uint64_t offset, std::span<std::byte> out) {
                                        std::memcpy(out.data(), from.data() + offset, out.size());
                                      });
  }

  std::optional<ChunkStore::FilledChunk> take_any(const OutputPartition& partition) {
    const LifeTimer timer(clocks_.sorting);
    return context_.store.take_any(partition.partition, clocks_.sorting);
  }

  const SortContext& context_;
  std::span<OutputStream> outputs_;
  PartitionSorter& sorter_;
  WriteQueue& queue_;
  OutputClocks& clocks_;
};

std::vector<ChunkStore::Partition> loading_order(std::span<const OutputPartition> partitions, bool stable) {
  std::vector<ChunkStore::Partition> order;
  for (const OutputPartition& partition : partitions)
    if (!(partition.holds_one_key && stable)) order.push_back(partition.partition);
  return order;
}

}  // namespace

PhaseReport write_partitions(const SortContext& context, std::span<const OutputPartition> partitions,
                             std::span<OutputStream> outputs, PartitionSorter& sorter) {
  const PhaseWatch watch(&context.monitor);
  const unsigned depth = context.plan.queue_depth;
  OutputClocks clocks;
  WriteQueue queue(context.monitor);
  ThreadGroup group(context.monitor);
  context.store.begin_loading(loading_order(partitions, context.plan.stable));
  group.start(depth, [&] { context.store.load_all(clocks.loading); });
  group.start(depth, [&] { write_blocks(context.blocks, queue, clocks.writing, context.progress); });
  group.start(1, [&] {
    PartitionWriter writer(context, outputs, sorter, queue, clocks);
    for (const OutputPartition& partition : partitions) writer.write(partition);
    queue.close();
  });
  group.join();
  return watch.report("sort and write", {report_stage("read temporary", depth, clocks.loading),
                                         report_stage("sort", 1, clocks.sorting),
                                         report_stage("gather", context.plan.threads, clocks.gathering),
                                         report_stage("write", depth, clocks.writing)});
}

}  // namespace sortcore
