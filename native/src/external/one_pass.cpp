#include "sortcore/external/one_pass.hpp"

#include <algorithm>
#include <atomic>

#include "sortcore/buffer.hpp"
#include "sortcore/io/monitor.hpp"
#include "sortcore/record_sort.hpp"

namespace sortcore {
namespace {

double seconds_since(LifeTimer::Clock::time_point start) {
  return std::chrono::duration<double>(LifeTimer::Clock::now() - start).count();
}

// Each worker gathers a block and writes it, so that while some write others gather; the kernel is the queue.
struct GatherAndWrite {
  const KeySorter& sorter;
  OutputFile& output;
  std::size_t block_bytes;
  std::uint32_t record_bytes;
  Progress* progress;
  StageClock gathering{};
  StageClock writing{};
  std::atomic<std::uint64_t> next_offset{0};

  void work() {
    Buffer block(block_bytes);
    while (true) {
      const std::uint64_t offset = next_offset.fetch_add(block_bytes);
      if (offset >= output.size()) return;
      throw_if_cancelled(progress);
      const auto bytes =
          static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, output.size() - offset));
      gather(block.first(bytes), offset);
      write(block.first(bytes), offset);
      add_progress(progress, bytes);
    }
  }

  void gather(std::span<std::byte> out, std::uint64_t offset) {
    const LifeTimer timer(gathering);
    sorter.gather(offset / record_bytes, out);
    gathering.bytes += out.size();
  }

  void write(std::span<const std::byte> block, std::uint64_t offset) {
    const LifeTimer timer(writing);
    output.write_exactly(block.data(), block.size(), offset);
    writing.bytes += block.size();
  }
};

}  // namespace

std::vector<PhaseReport> sort_in_one_pass(const InputMapping& input, const RecordFormat& format,
                                          OutputFile& output, const OnePassPlan& plan, Progress* progress) {
  const auto start = LifeTimer::Clock::now();
  KeySorter sorter(format, plan.threads);
  StageClock keys;
  if (progress != nullptr) progress->begin_phase(0, input.bytes().size());
  {
    const LifeTimer timer(keys);
    sorter.sort(input.bytes(), progress);
  }
  keys.bytes += input.bytes().size();
  const double keys_s = seconds_since(start);

  const auto second = LifeTimer::Clock::now();
  const unsigned workers = plan.threads + plan.queue_depth;
  if (progress != nullptr) progress->begin_phase(1, output.size());
  GatherAndWrite gather{sorter, output, plan.block_bytes, format.record_bytes, progress};
  Monitor monitor(progress);
  Crew crew(monitor);
  crew.start(workers, [&] { gather.work(); });
  crew.join();
  input.check();
  return {
      {"read keys", keys_s, {report_stage("read keys", plan.threads, keys)}},
      {"gather and write",
       seconds_since(second),
       {report_stage("gather", workers, gather.gathering), report_stage("write", workers, gather.writing)}}};
}

}  // namespace sortcore
