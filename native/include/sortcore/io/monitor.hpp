// One lock for a whole pipeline, and the one way to wait in it.
//
// Blocks are megabytes, so stages meet some thousand times a second at most, and a single mutex and condition
// do for all queues and pools of a pass. In return a failure or a cancel wakes everybody, wherever they wait.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "sortcore/clock.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

// What a stage did, summed over its threads. The time worked is the time lived less the time waited.
struct StageClock {
  std::atomic<std::uint64_t> lived_ns{0};
  std::atomic<std::uint64_t> waited_ns{0};
  std::atomic<std::uint64_t> bytes{0};
};

// How often the threads of a pipeline met.
struct MeetingCounts {
  std::uint64_t hand_overs = 0;  // blocks, chunks and work passed on
  std::uint64_t lock_waits = 0;  // the lock was not free
  std::uint64_t sleeps = 0;      // a thread had to sleep until another passed something on
  std::uint64_t idle_wakes = 0;  // it was woken, and could not go on
};

// Thrown in the other threads of a pipeline once one has failed; ThreadGroup::join reports the failure
// itself.
struct Stopped {};

class Monitor {
 public:
  explicit Monitor(const Progress* progress) : progress_(progress) {}

  std::unique_lock<std::mutex> lock();
  // Call it with the lock held.
  void count_hand_over() noexcept { ++counts_.hand_overs; }
  MeetingCounts counts();
  void notify() noexcept { changed_.notify_all(); }

  // Waits (with the `lock` of this monitor) until `ready()`; adds the time to `clock`. Throws Stopped after a
  // failure, Error(cancelled) within a tenth of a second of a cancel.
  template <typename Ready>
  void wait(std::unique_lock<std::mutex>& lock, StageClock& clock, Ready ready);

  // Remembers the first failure and wakes everybody.
  void fail(std::exception_ptr failure) noexcept;
  // Throws what `wait` would throw, without waiting.
  void check();
  std::exception_ptr failure();

 private:
  void check_locked() const;

  const Progress* progress_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::exception_ptr failure_;
  MeetingCounts counts_;
};

// Stands at the top of a stage's thread and adds the time it lives.
class LifeTimer {
 public:
  explicit LifeTimer(StageClock& clock) : clock_(clock), start_(Clock::now()) {}
  ~LifeTimer() { clock_.lived_ns += nanoseconds_since(start_); }
  LifeTimer(const LifeTimer&) = delete;
  LifeTimer& operator=(const LifeTimer&) = delete;

 private:
  StageClock& clock_;
  Clock::time_point start_;
};

// The threads of a pipeline. Whatever happens, none outlives it.
class ThreadGroup {
 public:
  explicit ThreadGroup(Monitor& monitor) : monitor_(monitor) {}
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // Starts `count` threads on `work`; an exception in one stops all.
  void start(unsigned count, std::function<void()> work);
  // Waits for all and rethrows the first failure.
  void join();

 private:
  Monitor& monitor_;
  std::vector<std::thread> threads_;
};

// The threads of a stage that hands work on; the last of them to leave closes the queue behind it.
class ThreadsLeft {
 public:
  explicit ThreadsLeft(unsigned threads = 0) : left_(threads) {}
  void set(unsigned threads) noexcept { left_ = threads; }
  // True for the last.
  bool leave() noexcept { return left_.fetch_sub(1) == 1; }

 private:
  std::atomic<unsigned> left_;
};

template <typename Ready>
void Monitor::wait(std::unique_lock<std::mutex>& lock, StageClock& clock, Ready ready) {
  check_locked();
  if (ready()) return;
  const auto start = Clock::now();
  ++counts_.sleeps;
  while (true) {
    const bool woken = changed_.wait_for(lock, std::chrono::milliseconds(100)) == std::cv_status::no_timeout;
    check_locked();
    if (ready()) break;
    if (woken) ++counts_.idle_wakes;
  }
  clock.waited_ns += nanoseconds_since(start);
}

}  // namespace sortcore
