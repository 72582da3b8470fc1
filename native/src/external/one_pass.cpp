#include "sortcore/external/one_pass.hpp"

#include <utility>

#include "sortcore/io/monitor.hpp"
#include "sortcore/records/record_sort.hpp"

namespace sortcore {

PhaseReport gather_and_write(OutputFile& output, std::uint64_t begin, const OnePassPlan& plan,
                             const OutputStream::Fill& gather, Progress* progress,
                             const std::function<void()>& gathered) {
  StageClock gathering;
  StageClock writing;
  Monitor monitor(progress);
  const PhaseWatch watch(&monitor);
  BlockPool blocks(monitor, plan.block_bytes, OnePassPlan::blocks(plan.threads, plan.queue_depth));
  WriteQueue queue(monitor);
  ThreadGroup group(monitor);
  group.start(plan.queue_depth, [&] { write_blocks(blocks, queue, writing, progress); });
  group.start(1, [&] {
    OutputStream stream(output, blocks, begin);
    stream.append(output.size() - begin, plan.threads, queue, gathering, gather);
    queue.close();
    gathered();
  });
  group.join();
  return watch.report("gather and write", {report_stage("gather", plan.threads, gathering),
                                           report_stage("write", plan.queue_depth, writing)});
}

std::vector<PhaseReport> sort_in_one_pass(InputMapping& input, const RecordFormat& format, OutputFile& output,
                                          const OnePassPlan& plan, Progress* progress) {
  const PhaseWatch watch;
  KeySorter sorter(format, plan.threads);
  StageClock keys;
  if (progress != nullptr) progress->begin_phase(0, input.file_bytes());
  std::vector<RecordRun> runs;
  for (const InputMapping::Part& part : input.parts())
    runs.push_back({part.first_byte / format.record_bytes, part.bytes / format.record_bytes});
  {
    const LifeTimer timer(keys);
    input.populate(plan.threads, progress);
    sorter.sort(input.bytes().data(), runs, progress);
  }
  keys.bytes += input.file_bytes();
  keys.lived_ns = keys.lived_ns * plan.threads;  // all of them worked
  PhaseReport first = watch.report("read keys", {report_stage("read keys", plan.threads, keys)});

  const auto gather = [&](std::uint64_t from, std::span<std::byte> out) { sorter.gather_bytes(from, out); };
  if (progress != nullptr) progress->begin_phase(1, output.size());
  PhaseReport second = gather_and_write(output, 0, plan, gather, progress, [&] { input.close(); });
  return {std::move(first), std::move(second)};
}

}  // namespace sortcore
