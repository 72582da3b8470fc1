// Fork and join: a function on several threads at once.
#pragma once

#include <cstdint>
#include <functional>

namespace sortcore {

// The threads that this process may run at once: its CPU affinity where the system reports it, else the
// hardware's, and no more than the quota of its control groups.
unsigned available_threads();

// `requested`, or all available when it is 0.
unsigned resolve_threads(unsigned requested);

// Threads that this process has started for run_parallel and for pipelines, which prefer idle ones.
std::uint64_t threads_started();

// Calls work(0) .. work(threads - 1) at once, work(0) on the calling thread, and returns when all have
// returned. The first exception (by time) is rethrown after all have ended; long loops should poll a
// Progress.
void run_parallel(unsigned threads, const std::function<void(unsigned)>& work);

// Calls work(0) .. work(count - 1), each on the next free one of up to `threads` threads. Exceptions are as
// in run_parallel.
void for_each_in_parallel(std::uint64_t count, unsigned threads,
                          const std::function<void(std::uint64_t)>& work);

// Part `index` of `parts` nearly equal, contiguous parts of 0 .. count.
struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};
Range part_of(std::uint64_t count, unsigned index, unsigned parts) noexcept;

}  // namespace sortcore
