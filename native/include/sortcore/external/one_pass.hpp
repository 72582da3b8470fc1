// MinuteSort's mode: the input lies in memory already, mapped from the page cache, and goes to the output
// once.
#pragma once

#include <vector>

#include "sortcore/external/sort_report.hpp"
#include "sortcore/io/input_mapping.hpp"
#include "sortcore/io/output_file.hpp"
#include "sortcore/progress.hpp"
#include "sortcore/record_format.hpp"

namespace sortcore {

struct OnePassPlan {
  unsigned threads;      // that read keys
  unsigned queue_depth;  // writes under way while `threads` gather
  std::size_t block_bytes;
};

// Sorts the mapped records into `output`, whose size is set. Stable.
std::vector<PhaseReport> sort_in_one_pass(const InputMapping& input, const RecordFormat& format,
                                          OutputFile& output, const OnePassPlan& plan, Progress* progress);

}  // namespace sortcore
