// Threads that wait for work and for blocks: their number of meetings, and no wakes without a reason.
#include "sortcore/io/monitor.hpp"

#include <atomic>
#include <chrono>
#include <thread>

#include "check.hpp"
#include "sortcore/error.hpp"
#include "sortcore/io/block_pool.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/io/queue.hpp"

namespace {
using namespace sortcore;

constexpr unsigned waiters = 4;

// Returns once this number of threads sleep.
void await_sleepers(Monitor& monitor, std::uint64_t sleepers) {
  while (monitor.counts().sleeps < sleepers) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
}  // namespace

THREADED_TEST(work_wakes_the_one_thread_that_can_take_it) {
  Monitor monitor(nullptr);
  Queue<int> queue(monitor);
  BlockPool blocks(monitor, page_bytes, 1);
  StageClock clock;
  std::atomic<int> sum{0};
  const BlockPool::Block block = blocks.acquire(clock);
  ThreadGroup group(monitor);
  group.start(waiters, [&] {
    while (const auto work = queue.pop(clock)) sum += *work;
  });
  group.start(1, [&] { blocks.release(blocks.acquire(clock)); });
  await_sleepers(monitor, waiters + 1);
  queue.push(7);
  await_sleepers(monitor, waiters + 2);  // the thread that took it sleeps again
  CHECK_EQUAL(monitor.counts().idle_wakes, 0U);
  blocks.release(block);
  queue.close();
  group.join();
  CHECK_EQUAL(sum.load(), 7);
  CHECK_EQUAL(monitor.counts().idle_wakes, 0U);
  CHECK_EQUAL(monitor.counts().sleeps, waiters + 2U);
  CHECK_EQUAL(monitor.counts().hand_overs, 3U);
}

THREADED_TEST(a_failure_wakes_everybody) {
  Monitor monitor(nullptr, std::chrono::hours(1));
  Queue<int> queue(monitor);
  BlockPool blocks(monitor, page_bytes, 1);
  StageClock clock;
  blocks.acquire(clock);
  ThreadGroup group(monitor);
  group.start(waiters, [&] { queue.pop(clock); });
  group.start(waiters, [&] { blocks.acquire(clock); });
  await_sleepers(monitor, 2 * waiters);
  monitor.fail(std::make_exception_ptr(Error(ErrorCode::io, "broken")));
  CHECK_THROWS(io, group.join());
  CHECK_THROWS(io, [&] {
    Queue<int> late(monitor);  // made after the failure
    try {
      late.pop(clock);
    } catch (const Stopped&) {
      std::rethrow_exception(monitor.failure());
    }
  }());
}

THREADED_TEST(a_cancel_is_noticed_while_waiting) {
  Progress progress;
  Monitor monitor(&progress);
  Queue<int> queue(monitor);
  StageClock clock;
  ThreadGroup group(monitor);
  group.start(waiters, [&] { queue.pop(clock); });
  await_sleepers(monitor, waiters);
  progress.cancel();
  CHECK_THROWS(cancelled, group.join());
}

THREADED_TEST(a_wake_that_comes_late_is_counted) {
  Monitor monitor(nullptr, std::chrono::milliseconds(1));
  Condition nobody_notifies(monitor);
  StageClock clock;
  std::atomic<bool> is_ready{false};
  ThreadGroup group(monitor);
  group.start(1, [&] {
    auto lock = monitor.lock();
    nobody_notifies.wait(lock, clock, [&] { return is_ready.load(); });
  });
  await_sleepers(monitor, 1);
  is_ready = true;
  group.join();
  CHECK_EQUAL(monitor.counts().late_wakes, 1U);
}
