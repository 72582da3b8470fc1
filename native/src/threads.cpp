#include "sortcore/threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>

#include "sortcore/control_groups.hpp"
#include "sortcore/thread_pool.hpp"

#ifdef __linux__
#include <sched.h>
#endif

namespace sortcore {

namespace {

unsigned usable_processors() noexcept {
#ifdef __linux__
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    return static_cast<unsigned>(std::max(1, CPU_COUNT(&allowed)));
  }
#endif
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace

unsigned available_threads() {
  const unsigned processors = usable_processors();
  return std::min(processors, group_processors().value_or(processors));
}

unsigned resolve_threads(unsigned requested) { return requested == 0 ? available_threads() : requested; }

namespace {

// Keeps the first exception of several threads.
class FirstFailure {
 public:
  template <typename Work>
  void guard(const Work& work) noexcept {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

std::uint64_t threads_started() { return ThreadPool::of_this_process().threads_started(); }

void run_parallel(unsigned threads, const std::function<void(unsigned)>& work) {
  FirstFailure failure;
  {
    TaskGroup others;
    // A thread that cannot be started is a failure like any other; running ones are waited for first.
    failure.guard([&] {
      for (unsigned index = 1; index < threads; ++index)
        others.start([&failure, &work, index] { failure.guard([&] { work(index); }); });
    });
    failure.guard([&] { work(0); });
  }
  failure.rethrow();
}

void for_each_in_parallel(std::uint64_t count, unsigned threads,
                          const std::function<void(std::uint64_t)>& work) {
  std::atomic<std::uint64_t> next{0};
  run_parallel(static_cast<unsigned>(std::clamp<std::uint64_t>(count, 1, std::max(threads, 1U))),
               [&](unsigned) {
                 for (std::uint64_t i = next++; i < count; i = next++) work(i);
               });
}

Range part_of(std::uint64_t count, unsigned index, unsigned parts) noexcept {
  const std::uint64_t share = count / parts, rest = count % parts;
  const auto begin_of = [&](std::uint64_t part) {
    return part * share + std::min<std::uint64_t>(part, rest);
  };
  return {begin_of(index), begin_of(index + 1)};
}

}  // namespace sortcore
