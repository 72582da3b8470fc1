#include "sortcore/external/distribute_pass.hpp"

#include <atomic>

#include "sortcore/external/distributor.hpp"
#include "sortcore/io/queue.hpp"

namespace sortcore {
namespace {

struct FilledBlock {
  BlockPool::Block block;
  std::size_t bytes;
};

struct Clocks {
  StageClock reading;
  StageClock distributing;
  StageClock writing;
};

// The threads of a stage that hands work on; the last of them to end closes the queue behind it.
class LastOne {
 public:
  explicit LastOne(unsigned count) : left_(count) {}
  bool is_me() noexcept { return left_.fetch_sub(1) == 1; }

 private:
  std::atomic<unsigned> left_;
};

void read_blocks(const SortContext& context, BlockSource& source, Queue<FilledBlock>& queue,
                 StageClock& clock) {
  const LifeTimer timer(clock);
  while (true) {
    const BlockPool::Block block = context.blocks.acquire(clock);
    const auto bytes = source.next(context.blocks.data(block), clock);
    if (!bytes) return context.blocks.release(block);
    queue.push({block, *bytes});
  }
}

void distribute_blocks(const SortContext& context, Distributor& distributor, Queue<FilledBlock>& queue,
                       StageClock& clock) {
  const LifeTimer timer(clock);
  while (const auto filled = queue.pop(clock)) {
    distributor.add({context.blocks.data(filled->block), filled->bytes}, clock);
    context.blocks.release(filled->block);
    add_progress(context.progress, filled->bytes);
  }
  distributor.finish();
}

}  // namespace

PhaseReport distribute(const SortContext& context, BlockSource& source, const Partitioner& partitioner,
                       std::span<const ChunkStore::Partition> partitions) {
  const auto start = LifeTimer::Clock::now();
  const ExternalPlan& plan = context.plan;
  Clocks clocks;
  Queue<FilledBlock> queue(context.monitor);
  LastOne last_reader(plan.queue_depth);
  LastOne last_distributor(plan.threads);
  Crew crew(context.monitor);
  context.store.start_spilling();
  crew.start(1, [&] { context.store.touch_ahead(); });
  crew.start(plan.queue_depth, [&] { context.store.spill_while_needed(clocks.writing); });
  crew.start(plan.threads, [&] {
    Distributor distributor(context.store, partitioner, partitions, plan.grain_bytes);
    distribute_blocks(context, distributor, queue, clocks.distributing);
    if (last_distributor.is_me()) context.store.stop_spilling();
  });
  crew.start(plan.queue_depth, [&] {
    read_blocks(context, source, queue, clocks.reading);
    if (last_reader.is_me()) queue.close();
  });
  crew.join();
  const std::chrono::duration<double> seconds = LifeTimer::Clock::now() - start;
  return {"distribute",
          seconds.count(),
          {report_stage("read", plan.queue_depth, clocks.reading),
           report_stage("distribute", plan.threads, clocks.distributing),
           report_stage("write temporary", plan.queue_depth, clocks.writing)}};
}

}  // namespace sortcore
