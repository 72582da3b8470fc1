// Threads that outlive their tasks, so that a step of milliseconds need not start any.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <vector>

namespace sortcore {

// Idle threads, and new ones when these are not enough: no task waits for another to end, so tasks may wait
// for each other and start tasks of their own. A thread leaves after two seconds without a task, so that none
// remains where nothing is sorted. It has the signal mask and the processors of the thread that started it.
//
// The process may end or fork at any moment: no thread is waited for at the end, and a child begins with a
// pool of its own, as it has none of its parent's threads. Nothing is started before the first task.
class ThreadPool {
 public:
  using Task = std::function<void()>;

  static ThreadPool& of_this_process();

  // Runs `work` on a thread at once, and `done` when the thread is free for another task; neither may throw.
  // Throws std::system_error if no thread can be started.
  void start(Task work, Task done);

  // Count since the process began, or was forked.
  std::uint64_t threads_started() noexcept;

 private:
  struct Job {
    Task work;  // empty if the thread is to leave
    Task done;
  };
  struct Worker {
    std::condition_variable given;
    Job job;
  };
  void start_thread(Job first);
  void live(Job job) noexcept;
  Job next_job(Worker& worker, const Task& done);

  std::mutex mutex_;
  std::vector<Worker*> idle_;  // the one that worked last at the back: its caches are warm
  std::size_t threads_ = 0;
  std::uint64_t started_ = 0;
};

// Tasks on the threads of the pool, and waiting for them.
class TaskGroup {
 public:
  TaskGroup() = default;
  ~TaskGroup() { wait(); }
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // As ThreadPool::start.
  void start(ThreadPool::Task work);
  // Waits until all have ended.
  void wait() noexcept;

 private:
  void end_one() noexcept;

  std::mutex mutex_;
  std::condition_variable ended_;
  std::uint64_t left_ = 0;
};

}  // namespace sortcore
