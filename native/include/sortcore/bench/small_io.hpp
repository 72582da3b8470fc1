// Reads and writes at random places of one file by several threads at once, like Scalyr's study of EC2
// storage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sortcore/bench/latency.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

struct SmallIoOperation {
  std::size_t io_bytes = 4096;  // whole pages
  bool writes = false;
  // After each write, the probability that the thread waits until the file is on the device. At 1 writes
  // bypass the page cache; below it they go through it.
  double flush_probability = 1;
  unsigned threads = 1;
  double seconds = 5;
  double interval_s = 1;
};

struct SmallIoReport {
  bool is_direct = false;
  std::uint64_t bytes = 0;
  std::vector<std::uint64_t> bytes_by_interval;
  LatencyHistogram latency;
};

// A nameless file full of records. Not thread-safe; `run` starts its own threads.
class SmallIoFile {
 public:
  // One progress phase, in bytes. Throws Error(io) naming the directory, Error(cancelled).
  SmallIoFile(const std::string& directory, std::uint64_t bytes, Progress* progress);

  // Counts operations completed in time. One progress phase, numbered 1, in milliseconds.
  SmallIoReport run(const SmallIoOperation& operation, Progress* progress);

 private:
  void set_direct(bool direct);

  std::uint64_t bytes_;
  File file_;
  bool can_be_direct_;
};

}  // namespace sortcore
