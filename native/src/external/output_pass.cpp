#include "sortcore/external/output_pass.hpp"

#include <algorithm>
#include <cstring>

namespace sortcore {
namespace {

struct Clocks {
  StageClock loading;
  StageClock sorting;
  StageClock gathering;
  StageClock writing;
};

std::vector<RecordRun> runs_of(const SortContext& context, std::span<const ChunkStore::Held> chunks,
                               std::size_t record_bytes) {
  std::vector<RecordRun> runs;
  for (const ChunkStore::Held& held : chunks) {
    const std::uint64_t begin = std::uint64_t{held.chunk} * context.store.chunk_bytes();
    runs.push_back({begin / record_bytes, held.bytes / record_bytes});
  }
  std::ranges::sort(runs, {}, &RecordRun::first_record);
  return runs;
}

class PartitionWriter {
 public:
  PartitionWriter(const SortContext& context, std::span<OutputStream> outputs, KeySorter& sorter,
                  WriteQueue& queue, Clocks& clocks)
      : context_(context), outputs_(outputs), sorter_(sorter), queue_(queue), clocks_(clocks) {}

  void write(const OutputPartition& partition) {
    if (partition.holds_one_key) {
      copy_through(partition);
    } else {
      sort_and_gather(partition);
    }
  }

 private:
  void sort_and_gather(const OutputPartition& partition) {
    const std::vector<ChunkStore::Held> chunks = sort(partition);
    const std::uint64_t record_bytes = context_.plan.record_bytes;
    const std::uint64_t bytes = sorter_.records() * record_bytes;
    outputs_[partition.output].append(
        bytes, context_.plan.threads, queue_, clocks_.gathering,
        [&](std::uint64_t from, std::span<std::byte> out) { sorter_.gather(from / record_bytes, out); });
    for (const ChunkStore::Held& held : chunks) context_.store.release(held.chunk);
  }

  std::vector<ChunkStore::Held> sort(const OutputPartition& partition) {
    const LifeTimer timer(clocks_.sorting);
    std::vector<ChunkStore::Held> chunks = context_.store.take(partition.partition, clocks_.sorting);
    sorter_.sort(context_.store.memory(), runs_of(context_, chunks, context_.plan.record_bytes));
    clocks_.sorting.bytes += sorter_.records() * context_.plan.record_bytes;
    return chunks;
  }

  void copy_through(const OutputPartition& partition) {
    while (const auto held = take_any(partition)) {
      const std::byte* from = context_.store.data(held->chunk);
      outputs_[partition.output].append(held->bytes, 1, queue_, clocks_.gathering,
                                        [&](std::uint64_t offset, std::span<std::byte> out) {
                                          std::memcpy(out.data(), from + offset, out.size());
                                        });
      context_.store.release(held->chunk);
    }
  }

  std::optional<ChunkStore::Held> take_any(const OutputPartition& partition) {
    const LifeTimer timer(clocks_.sorting);
    return context_.store.take_any(partition.partition, clocks_.sorting);
  }

  const SortContext& context_;
  std::span<OutputStream> outputs_;
  KeySorter& sorter_;
  WriteQueue& queue_;
  Clocks& clocks_;
};

std::vector<ChunkStore::Partition> loading_order(std::span<const OutputPartition> partitions) {
  std::vector<ChunkStore::Partition> order;
  for (const OutputPartition& each : partitions) order.push_back(each.partition);
  return order;
}

}  // namespace

PhaseReport write_partitions(const SortContext& context, std::span<const OutputPartition> partitions,
                             std::span<OutputStream> outputs, KeySorter& sorter) {
  const auto start = LifeTimer::Clock::now();
  const unsigned depth = context.plan.queue_depth;
  Clocks clocks;
  WriteQueue queue(context.monitor);
  Crew crew(context.monitor);
  context.store.begin_loading(loading_order(partitions));
  crew.start(depth, [&] { context.store.load_all(clocks.loading); });
  crew.start(depth, [&] { write_blocks(context.blocks, queue, clocks.writing, context.progress); });
  crew.start(1, [&] {
    PartitionWriter writer(context, outputs, sorter, queue, clocks);
    for (const OutputPartition& partition : partitions) writer.write(partition);
    queue.close();
  });
  crew.join();
  const std::chrono::duration<double> seconds = LifeTimer::Clock::now() - start;
  return {"sort and write",
          seconds.count(),
          {report_stage("read temporary", depth, clocks.loading), report_stage("sort", 1, clocks.sorting),
           report_stage("gather", context.plan.threads, clocks.gathering),
           report_stage("write", depth, clocks.writing)}};
}

}  // namespace sortcore
