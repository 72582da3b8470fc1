// A sort of text in one pass: the input is mapped from the page cache and goes to the output once.
#pragma once

#include <cstdint>
#include <vector>

#include "sortcore/external/one_pass.hpp"
#include "sortcore/lines/line_format.hpp"

namespace sortcore {

struct LinesInOnePass {
  std::uint64_t lines;
  std::vector<PhaseReport> phases;
};

// Sorts the mapped lines into `output` and sets its size. Stable. Throws Error(too_little_memory), before
// taking much memory, if there are more than `most_lines`; Error(io) for an input that changes meanwhile.
LinesInOnePass sort_lines_in_one_pass(InputMapping& input, const LineFormat& format, OutputFile& output,
                                      const OnePassPlan& plan, std::uint64_t most_lines, Progress* progress);

}  // namespace sortcore
