// Sorting files of any size into files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sortcore/external/packing.hpp"
#include "sortcore/external/sort_report.hpp"
#include "sortcore/progress.hpp"
#include "sortcore/records/record_format.hpp"

namespace sortcore {

struct SortFilesRequest {
  enum class Passes : std::uint8_t { automatic, one, two };

  std::vector<std::string> inputs;
  // The concatenation of the outputs, in this order, is sorted; they get about equal shares.
  std::vector<std::string> outputs;
  bool replaces = true;  // files of these names, also those that appear meanwhile
  // None, or one for each output: a second copy, written along with it (application-level replication).
  std::vector<std::string> replicas;
  std::vector<std::string> temporary_directories;  // none: the first output's
  RecordFormat format;
  bool stable = false;             // equal keys keep the order of the input; one pass always does so
  std::uint64_t memory_bytes = 0;  // 0: four fifths of the available memory
  unsigned threads = 0;            // 0: all available
  unsigned queue_depth = 0;        // 0: tried out from `probe_from_bytes` on, else four
  std::uint64_t probe_from_bytes = 4'000'000'000;  // smaller inputs are not worth a trial of the disks
  bool allow_direct = true;
  Passes passes = Passes::automatic;
  Spill spill = Spill::automatic;  // form of data that does not fit in memory
};

// Outputs appear complete or not at all; inputs are only read; no temporary file remains. Progress: phase 0
// reads (keys, or records to distribute), phase 1 writes.
//
// Throws Error: bad_input (an output that is an input, no such directory), bad_record (half a record), io
// (with path and offset), input_changed, too_little_memory, cancelled.
SortReport sort_files(const SortFilesRequest& request, Progress* progress = nullptr);

}  // namespace sortcore
