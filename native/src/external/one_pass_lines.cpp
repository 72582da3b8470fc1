#include "sortcore/external/one_pass_lines.hpp"

#include <utility>

#include "sortcore/error.hpp"
#include "sortcore/io/monitor.hpp"
#include "sortcore/lines/line_sort.hpp"

namespace sortcore {
namespace {

// If an input changes meanwhile, reports first where it shrank.
void read_lines(LineSorter& sorter, const InputMapping& input, std::uint64_t most_lines, Progress* progress) {
  std::vector<TextRun> runs;
  for (const InputMapping::Part& part : input.parts()) runs.push_back({part.first_byte, part.bytes});
  try {
    sorter.sort(input.bytes().data(), runs, progress, most_lines);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) input.check();
    throw;
  }
}

}  // namespace

LinesInOnePass sort_lines_in_one_pass(InputMapping& input, const LineFormat& format, OutputFile& output,
                                      const OnePassPlan& plan, std::uint64_t most_lines, Progress* progress) {
  const PhaseWatch watch;
  StageClock reading;
  LineSorter sorter(format, plan.threads);
  if (progress != nullptr) progress->begin_phase(0, input.file_bytes());
  {
    const LifeTimer timer(reading);
    read_lines(sorter, input, most_lines, progress);
    reading.bytes += input.file_bytes();
  }
  reading.lived_ns = reading.lived_ns * plan.threads;  // all of them worked
  PhaseReport first = watch.report("read lines", {report_stage("read lines", plan.threads, reading)});

  output.set_size(sorter.bytes());
  const auto gather = [&](std::uint64_t from, std::span<std::byte> out) { sorter.gather(from, out); };
  if (progress != nullptr) progress->begin_phase(1, output.size());
  PhaseReport second = gather_and_write(output, 0, plan, gather, progress, [&] { input.close(); });
  return {sorter.lines(), {std::move(first), std::move(second)}};
}

}  // namespace sortcore
