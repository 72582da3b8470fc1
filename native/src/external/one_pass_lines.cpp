#include "sortcore/external/one_pass_lines.hpp"

#include <algorithm>
#include <atomic>

#include "sortcore/buffer.hpp"
#include "sortcore/error.hpp"
#include "sortcore/io/monitor.hpp"
#include "sortcore/line_sort.hpp"

namespace sortcore {
namespace {

double seconds_since(LifeTimer::Clock::time_point start) {
  return std::chrono::duration<double>(LifeTimer::Clock::now() - start).count();
}

// A file that changes under the reader is noticed where it shrank first.
void read_lines(LineSorter& sorter, const InputMapping& input, std::uint64_t most_lines, Progress* progress) {
  const TextRun all{0, input.bytes().size()};
  try {
    sorter.sort(input.bytes().data(), {&all, 1}, progress, most_lines);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) input.check();
    throw;
  }
}

struct Clocks {
  StageClock reading;
  StageClock gathering;
  StageClock writing;
};

// Each worker gathers a block and writes it, so that while some write others gather; the kernel is the queue.
void gather_and_write(const LineSorter& sorter, OutputFile& output, std::size_t block_bytes,
                      std::atomic<std::uint64_t>& next_offset, Clocks& clocks, Progress* progress) {
  Buffer block(block_bytes);
  for (std::uint64_t offset = next_offset.fetch_add(block_bytes); offset < output.size();
       offset = next_offset.fetch_add(block_bytes)) {
    throw_if_cancelled(progress);
    const auto bytes = static_cast<std::size_t>(std::min<std::uint64_t>(block_bytes, output.size() - offset));
    {
      const LifeTimer timer(clocks.gathering);
      sorter.gather(offset, block.first(bytes));
      clocks.gathering.bytes += bytes;
    }
    const LifeTimer timer(clocks.writing);
    output.write_exactly(block.data(), bytes, offset);
    clocks.writing.bytes += bytes;
    add_progress(progress, bytes);
  }
}

}  // namespace

LinesInOnePass sort_lines_in_one_pass(const InputMapping& input, const LineFormat& format, OutputFile& output,
                                      const OnePassPlan& plan, std::uint64_t most_lines, Progress* progress) {
  const auto start = LifeTimer::Clock::now();
  Clocks clocks;
  LineSorter sorter(format, plan.threads);
  if (progress != nullptr) progress->begin_phase(0, input.bytes().size());
  {
    const LifeTimer timer(clocks.reading);
    read_lines(sorter, input, most_lines, progress);
    clocks.reading.bytes += input.bytes().size();
  }
  const double reading_s = seconds_since(start);

  const auto second = LifeTimer::Clock::now();
  output.set_size(sorter.bytes());
  if (progress != nullptr) progress->begin_phase(1, output.size());
  const unsigned workers = plan.threads + plan.queue_depth;
  std::atomic<std::uint64_t> next_offset{0};
  Monitor monitor(progress);
  Crew crew(monitor);
  crew.start(workers,
             [&] { gather_and_write(sorter, output, plan.block_bytes, next_offset, clocks, progress); });
  crew.join();
  input.check();
  return {sorter.lines(),
          {{"read lines", reading_s, {report_stage("read lines", plan.threads, clocks.reading)}},
           {"gather and write",
            seconds_since(second),
            {report_stage("gather", workers, clocks.gathering),
             report_stage("write", workers, clocks.writing)}}}};
}

}  // namespace sortcore
