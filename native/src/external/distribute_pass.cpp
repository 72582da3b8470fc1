#include "sortcore/external/distribute_pass.hpp"

#include <map>
#include <optional>

#include "sortcore/external/distributor.hpp"
#include "sortcore/io/queue.hpp"

namespace sortcore {
namespace {

struct FilledBlock {
  BlockPool::Block block;
  SourceBlock from;
};

struct DistributeClocks {
  StageClock reading;
  StageClock distributing;
  StageClock writing;
};

void read_blocks(const SortContext& context, BlockSource& source, Queue<FilledBlock>& queue,
                 StageClock& clock) {
  const LifeTimer timer(clock);
  while (true) {
    const BlockPool::Block block = context.blocks.acquire(clock);
    const auto filled = source.next(context.blocks.data(block), clock);
    if (!filled) return context.blocks.release(block);
    queue.push({block, *filled});
  }
}

// Blocks in order of arrival or, for one thread alone, in the order of the input. It cannot wait forever: a
// reader has a block of memory before it has a number, so the next number is always on its way.
class Blocks {
 public:
  Blocks(Queue<FilledBlock>& queue, bool in_order) : queue_(queue), in_order_(in_order) {}

  std::optional<FilledBlock> next(StageClock& clock) {
    if (!in_order_) return queue_.pop(clock);
    while (!early_.contains(expected_)) {
      const auto filled = queue_.pop(clock);
      if (!filled) return std::nullopt;
      early_.emplace(filled->from.sequence, *filled);
    }
    return early_.extract(expected_++).mapped();
  }

 private:
  Queue<FilledBlock>& queue_;
  bool in_order_;
  std::map<std::uint64_t, FilledBlock> early_;
  std::uint64_t expected_ = 0;
};

void distribute_blocks(const SortContext& context, Distributor& distributor, Queue<FilledBlock>& queue,
                       StageClock& clock) {
  const LifeTimer timer(clock);
  Blocks blocks(queue, context.plan.stable);
  while (const auto filled = blocks.next(clock)) {
    distributor.add(filled->from, clock);
    context.blocks.release(filled->block);
    add_progress(context.progress, filled->from.content.size());
  }
  distributor.finish();
}

void tell_what_is_to_come(const SortContext& context, std::uint64_t fresh_bytes, std::uint64_t opened) {
  ChunkStore& store = context.store;
  const std::uint64_t full = fresh_bytes / context.plan.chunk_capacity_bytes();
  const PartFilled part_filled = part_filled_chunks(opened);
  store.start_spilling(full + part_filled.if_all_fits);
  if (!store.holds_the_rest()) store.start_spilling(full + part_filled.if_not);
}

}  // namespace

PhaseReport distribute(const SortContext& context, BlockSource& source, const Division& division,
                       std::span<const ChunkStore::Partition> partitions, std::uint64_t fresh_bytes) {
  const PhaseWatch watch(&context.monitor);
  const ExternalPlan& plan = context.plan;
  DistributeClocks clocks;
  Queue<FilledBlock> queue(context.monitor);
  ThreadsLeft readers(plan.queue_depth);
  const unsigned distributors = plan.stable ? 1 : plan.threads;
  ThreadsLeft distributors_left(distributors);
  ThreadGroup group(context.monitor);
  tell_what_is_to_come(context, fresh_bytes, distributors * partitions.size());
  group.start(1, [&] { context.store.touch_ahead(); });
  group.start(plan.queue_depth, [&] { context.store.spill_while_needed(clocks.writing); });
  group.start(distributors, [&] {
    Distributor distributor(context.store, division.partitioner(), partitions, plan.grain_bytes);
    distribute_blocks(context, distributor, queue, clocks.distributing);
    if (distributors_left.leave()) context.store.stop_spilling();
  });
  group.start(plan.queue_depth, [&] {
    read_blocks(context, source, queue, clocks.reading);
    if (readers.leave()) queue.close();
  });
  group.join();
  return watch.report("distribute", {report_stage("read", plan.queue_depth, clocks.reading),
                                     report_stage("distribute", distributors, clocks.distributing),
                                     report_stage("write temporary", plan.queue_depth, clocks.writing)});
}

}  // namespace sortcore
