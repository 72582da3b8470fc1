// One lock for a whole pipeline, a condition for each kind of wait, and the one way to wait.
//
// Blocks are megabytes, so stages meet some thousand times a second at most, and hold the lock for about a
// microsecond: a single mutex is enough for all queues and pools of a pass. But a thread that changes
// something wakes only those that wait for it. The monitor knows all conditions: a failure wakes all threads,
// wherever they wait, and a cancel is noticed within a tenth of a second.
//
// No wake-up is lost if two rules hold. Every action that can make a condition's predicate true notifies it;
// the header of its owner lists them. And `notify_one` is only for a predicate that is the same for all
// waiting threads: each change that lets one more of them go on notifies one, or the thread that goes on and
// leaves it true does.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "sortcore/clock.hpp"
#include "sortcore/progress.hpp"
#include "sortcore/thread_pool.hpp"

namespace sortcore {

// Work of a stage, summed over its threads. The time worked is the time lived less the time waited.
struct StageClock {
  std::atomic<std::uint64_t> lived_ns{0};
  std::atomic<std::uint64_t> waited_ns{0};
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<unsigned> waiting{0};  // threads just now; their wait counts in `waited_ns` less its beginning

  // Time waited, current waits included. To be called with the lock of the monitor.
  std::uint64_t waited_until(Clock::time_point now) const noexcept {
    return waited_ns + waiting * nanoseconds_of(now);
  }
};

// Counts of the meetings of a pipeline's threads.
struct MeetingCounts {
  std::uint64_t hand_overs = 0;  // blocks, chunks and work passed on
  std::uint64_t lock_waits = 0;  // the lock was not free
  std::uint64_t sleeps = 0;      // a thread had to sleep until another passed something on
  std::uint64_t idle_wakes = 0;  // it was woken, and could not go on
  std::uint64_t late_wakes = 0;  // it was not woken although it could go on, and noticed that on its own
};

// Thrown in the other threads of a pipeline once one has failed; ThreadGroup::join reports the failure
// itself.
struct Stopped {};

class Condition;

class Monitor {
 public:
  // Waiting threads check `progress`, and their predicate, every `look_again`.
  explicit Monitor(const Progress* progress,
                   std::chrono::milliseconds look_again = std::chrono::milliseconds(100))
      : progress_(progress), look_again_(look_again) {}

  std::unique_lock<std::mutex> lock();
  // Call it with the lock held.
  void count_hand_over() noexcept { ++counts_.hand_overs; }
  MeetingCounts counts();

  // Stores the first failure and wakes all threads.
  void fail(std::exception_ptr failure) noexcept;
  // Throws like waiting, without waiting.
  void check();
  // The same with the lock held.
  void check_locked() const;
  std::exception_ptr failure();

 private:
  friend class Condition;

  const Progress* progress_;
  std::chrono::milliseconds look_again_;
  std::mutex mutex_;
  std::vector<Condition*> conditions_;
  std::exception_ptr failure_;
  MeetingCounts counts_;
};

// The threads that wait for one kind of change.
class Condition {
 public:
  explicit Condition(Monitor& monitor);
  ~Condition();
  Condition(const Condition&) = delete;
  Condition& operator=(const Condition&) = delete;

  void notify_one() noexcept { changed_.notify_one(); }
  void notify_all() noexcept { changed_.notify_all(); }

  // Waits (with the `lock` of the monitor) until `ready()`; adds the time to `clock`. Throws Stopped after a
  // failure, Error(cancelled) within a tenth of a second of a cancel.
  template <typename Ready>
  void wait(std::unique_lock<std::mutex>& lock, StageClock& clock, Ready ready);

 private:
  Monitor& monitor_;
  std::condition_variable changed_;
};

// Placed at the top of a stage's thread; adds the time it lives.
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

// Placed where a stage's thread begins to wait; adds the time until the end. Both with the lock.
class WaitTimer {
 public:
  explicit WaitTimer(StageClock& clock) : clock_(clock) {
    clock_.waited_ns -= nanoseconds_of(Clock::now());
    ++clock_.waiting;
  }
  ~WaitTimer() {
    clock_.waited_ns += nanoseconds_of(Clock::now());
    --clock_.waiting;
  }
  WaitTimer(const WaitTimer&) = delete;
  WaitTimer& operator=(const WaitTimer&) = delete;

 private:
  StageClock& clock_;
};

// The threads of a pipeline, from the pool. Their work never outlives it.
class ThreadGroup {
 public:
  explicit ThreadGroup(Monitor& monitor) : monitor_(monitor) {}
  ~ThreadGroup();
  ThreadGroup(const ThreadGroup&) = delete;
  ThreadGroup& operator=(const ThreadGroup&) = delete;

  // Runs `work` on `count` threads; an exception in one stops all.
  void start(unsigned count, std::function<void()> work);
  // Waits for all and rethrows the first failure.
  void join();

 private:
  Monitor& monitor_;
  bool is_joined_ = true;
  TaskGroup threads_;
};

// The threads of a stage that hands work on; the last of them to leave closes the queue behind it.
class ThreadsLeft {
 public:
  explicit ThreadsLeft(unsigned threads = 0) : left_(threads) {}
  void set(unsigned threads) noexcept { left_ = threads; }
  // True for the last thread.
  bool leave() noexcept { return left_.fetch_sub(1) == 1; }

 private:
  std::atomic<unsigned> left_;
};

template <typename Ready>
void Condition::wait(std::unique_lock<std::mutex>& lock, StageClock& clock, Ready ready) {
  monitor_.check_locked();
  if (ready()) return;
  const WaitTimer timer(clock);
  MeetingCounts& counts = monitor_.counts_;
  ++counts.sleeps;
  for (bool can_go_on = false; !can_go_on;) {
    const bool woken = changed_.wait_for(lock, monitor_.look_again_) == std::cv_status::no_timeout;
    monitor_.check_locked();
    can_go_on = ready();
    if (woken != can_go_on) ++(woken ? counts.idle_wakes : counts.late_wakes);
  }
}

}  // namespace sortcore
