// Report on a sort of files, for finding the bottleneck.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sortcore/io/monitor.hpp"

namespace sortcore {

struct StageReport {
  std::string name;
  unsigned threads;
  double working_s;  // summed over its threads
  double waiting_s;  // for a block, a chunk or work, summed likewise
  std::uint64_t bytes;
};

struct PhaseReport {
  std::string name;
  double seconds;
  std::vector<StageReport> stages;
  MeetingCounts meetings{};
  std::uint64_t threads_started = 0;  // by this process during the sort
};

// A parameter, its value in words, and why it was chosen.
struct Choice {
  std::string name;
  std::string value;
  std::string reason;
};

struct SortReport {
  std::string mode;  // "one pass" or "two passes"
  std::uint64_t records = 0;
  std::uint64_t input_bytes = 0;
  double seconds = 0;
  // Bytes moved. Each record is read and written once in one pass; in two passes the temporary bytes are
  // those that memory could not keep, and `kept_bytes` those that it could.
  std::uint64_t input_bytes_read = 0;
  std::uint64_t sample_bytes_read = 0;
  std::uint64_t temporary_bytes_written = 0;
  std::uint64_t temporary_bytes_read = 0;
  std::uint64_t output_bytes_written = 0;
  std::uint64_t kept_bytes = 0;
  // Bytes that went to the scratch files, as in memory; of these the packed ones, before and after packing.
  std::uint64_t spilled_bytes = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t packed_to_bytes = 0;
  std::uint64_t partitions = 0;
  std::uint64_t one_key_partitions = 0;
  std::uint64_t partitions_split_again = 0;
  std::vector<PhaseReport> phases;
  std::vector<Choice> choices;
  std::vector<Choice> disks;  // until they join the choices in the end
};

// Begins with a phase, and reports the activity since then.
class PhaseWatch {
 public:
  explicit PhaseWatch(Monitor* monitor = nullptr);
  PhaseReport report(std::string name, std::vector<StageReport> stages) const;

 private:
  Monitor* monitor_;
  Clock::time_point start_ = Clock::now();
  MeetingCounts before_;
  std::uint64_t threads_before_;
};

StageReport report_stage(std::string name, unsigned threads, const StageClock& clock);

}  // namespace sortcore
