// What any sort of these files must take: the same bytes moved with the same blocks and queue depths, not
// sorted.
#pragma once

#include <cstdint>
#include <string>

#include "sortcore/external/external_plan.hpp"
#include "sortcore/external/one_pass.hpp"

namespace sortcore {

struct FloorReport {
  double seconds = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
};

// One pass: `bytes` of memory written to `output`, as sort_in_one_pass writes them, and committed.
FloorReport write_floor(const std::string& output, std::uint64_t bytes, const OnePassPlan& plan);

// Two passes: `input` copied to a scratch file, and that to `output`; reads and writes overlap.
FloorReport copy_floor(const std::string& input, const std::string& output,
                       const std::string& temporary_directory, const ExternalPlan& plan);

}  // namespace sortcore
