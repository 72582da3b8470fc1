#include "sortcore/thread_pool.hpp"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

namespace sortcore {
namespace {

constexpr std::chrono::seconds idle_time{2};

// Never destroyed: its threads may outlive main(), and a child inherits it in an unknown state.
std::atomic<ThreadPool*> pool{nullptr};

void forget_pool() noexcept { pool = nullptr; }

[[maybe_unused]] const int watches_forks = pthread_atfork(nullptr, nullptr, forget_pool);

}  // namespace

ThreadPool& ThreadPool::of_this_process() {
  ThreadPool* current = pool;
  if (current != nullptr) return *current;
  auto* const made = new ThreadPool;
  if (pool.compare_exchange_strong(current, made)) return *made;
  delete made;
  return *current;
}

void ThreadPool::start(Task work, Task done) {
  const std::lock_guard lock(mutex_);
  Job job{std::move(work), std::move(done)};
  if (idle_.empty()) return start_thread(std::move(job));
  Worker& worker = *idle_.back();
  idle_.pop_back();
  worker.job = std::move(job);
  worker.given.notify_one();
}

// Called with the lock held.
void ThreadPool::start_thread(Job first) {
  idle_.reserve(threads_ + 1);  // a thread that becomes idle must not fail
  std::thread([this, job = std::move(first)]() mutable { live(std::move(job)); }).detach();
  ++threads_;
  ++started_;
}

std::uint64_t ThreadPool::threads_started() noexcept {
  const std::lock_guard lock(mutex_);
  return started_;
}

void ThreadPool::live(Job job) noexcept {
  Worker worker;
  while (job.work) {
    job.work();
    job.work = nullptr;  // frees its captures before the end is reported
    job = next_job(worker, job.done);
  }
}

ThreadPool::Job ThreadPool::next_job(Worker& worker, const Task& done) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(&worker);
  }
  done();
  std::unique_lock lock(mutex_);
  if (!worker.given.wait_for(lock, idle_time, [&] { return worker.job.work != nullptr; })) {
    std::erase(idle_, &worker);
    --threads_;
  }
  return std::exchange(worker.job, {});
}

void TaskGroup::start(ThreadPool::Task work) {
  {
    const std::lock_guard lock(mutex_);
    ++left_;
  }
  try {
    ThreadPool::of_this_process().start(std::move(work), [this] { end_one(); });
  } catch (...) {
    end_one();
    throw;
  }
}

void TaskGroup::end_one() noexcept {
  // With the lock held: the waiting thread may destroy the group once it is released.
  const std::lock_guard lock(mutex_);
  if (--left_ == 0) ended_.notify_all();
}

void TaskGroup::wait() noexcept {
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [&] { return left_ == 0; });
}

}  // namespace sortcore
