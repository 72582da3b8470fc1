// DiskBench: the storage path of a sort without the sort (Conley, Vahdat, Porter, SoCC 2015, section 4.2.1).
//
// Records are read in large blocks from some directories, dealt to random partitions, and written in chunks
// to others, for a given time. Without directories to write it only reads, and vice versa. Directories are
// used separately (JBOD), or those of a side are striped into one volume like RAID-0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sortcore/progress.hpp"

namespace sortcore {

struct DiskBenchRequest {
  std::vector<std::string> read_directories;
  std::vector<std::string> write_directories;
  double seconds = 10;
  double warm_up_s = 0;
  double interval_s = 1;
  std::uint64_t file_bytes = 2'000'000'000;  // of each directory's file, reused cyclically
  unsigned queue_depth = 4;                  // concurrent transfers per directory, each way
  unsigned partitions = 16;                  // destinations of records, per dealing thread
  std::size_t read_block_bytes = 4'096'000;  // whole records of 100 bytes and whole pages
  std::size_t write_block_bytes = 1'024'000;
  std::size_t stripe_bytes = 0;  // of RAID-0, whole pages; 0 is JBOD
  bool allow_direct = true;
};

// Result for one directory on one side.
struct VolumeReport {
  std::string directory;
  bool is_written = false;
  bool is_direct = false;
  bool is_preallocated = false;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> bytes_by_interval;
};

// The files have no names, so that nothing remains however the process ends. Progress has two phases: files
// prepared, in bytes; time measured, in milliseconds. Throws Error(io) naming directory and offset (a full
// disk), Error(bad_input) for blocks that are not whole records and pages, Error(cancelled).
std::vector<VolumeReport> bench_disk(const DiskBenchRequest& request, Progress* progress);

}  // namespace sortcore
