// A sort in one pass, like MinuteSort's: the input is mapped from the page cache and goes to the output once.
#pragma once

#include <functional>
#include <vector>

#include "sortcore/external/output_stream.hpp"
#include "sortcore/external/sort_report.hpp"
#include "sortcore/io/input_mapping.hpp"
#include "sortcore/io/output_file.hpp"
#include "sortcore/progress.hpp"
#include "sortcore/records/record_format.hpp"

namespace sortcore {

struct OnePassPlan {
  unsigned threads;      // that read keys, then gather
  unsigned queue_depth;  // writes under way meanwhile
  std::size_t block_bytes;

  // One for each gathering or writing thread, and two on their way between them.
  static std::size_t blocks(unsigned threads, unsigned queue_depth) { return threads + queue_depth + 2; }
};

// The second half of one pass: some threads fill blocks of the output with `gather`, from its byte `begin` to
// its end, others write them. Calls `gathered` while the last are written.
PhaseReport gather_and_write(OutputFile& output, std::uint64_t begin, const OnePassPlan& plan,
                             const OutputStream::Fill& gather, Progress* progress,
                             const std::function<void()>& gathered);

// Sorts the mapped records into `output`, whose size is set, and closes the input. Stable.
std::vector<PhaseReport> sort_in_one_pass(InputMapping& input, const RecordFormat& format, OutputFile& output,
                                          const OnePassPlan& plan, Progress* progress);

}  // namespace sortcore
