// Work on the threads of the pool: all of it at once, nested, failing, and in a forked child.
#include "sortcore/thread_pool.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <string>

#include "check.hpp"
#include "sortcore/threads.hpp"

namespace {
using namespace sortcore;

constexpr unsigned task_width = 4;

// Runs all work of a call at once, or never ends.
void meet() {
  std::barrier<> all(task_width);
  run_parallel(task_width, [&](unsigned) { all.arrive_and_wait(); });
}
}  // namespace

THREADED_TEST(threads_are_used_again) {
  constexpr unsigned rounds = 200;
  meet();
  const std::uint64_t before = threads_started();
  std::atomic<unsigned> calls{0};
  for (unsigned round = 0; round < rounds; ++round) run_parallel(task_width, [&](unsigned) { ++calls; });
  CHECK_EQUAL(calls.load(), rounds * task_width);
  CHECK_EQUAL(threads_started(), before);
}

THREADED_TEST(nested_work_is_under_way_at_once) {
  for (unsigned round = 0; round < 20; ++round) {
    std::barrier<> all(task_width * task_width);
    run_parallel(task_width,
                 [&](unsigned) { run_parallel(task_width, [&](unsigned) { all.arrive_and_wait(); }); });
  }
}

THREADED_TEST(an_exception_passes_through_nested_work) {
  std::atomic<unsigned> finished{0};
  for (unsigned round = 0; round < 20; ++round) {
    CHECK_THROWS(io, run_parallel(task_width, [&](unsigned outer) {
                   run_parallel(task_width, [&](unsigned inner) {
                     if (outer == 2 && inner == 1) throw Error(ErrorCode::io, "broken");
                     ++finished;
                   });
                 }));
  }
  CHECK_EQUAL(finished.load(), 20 * (task_width * task_width - 1));
}

// The thread sanitizer allows no threads in a child.
TEST(a_forked_child_has_threads_of_its_own) {
  meet();
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);  // ends a child that waits for threads it does not have
    meet();
    ::_exit(threads_started() == task_width - 1 ? 0 : 1);
  }
  int status = -1;
  CHECK_EQUAL(::waitpid(child, &status, 0), child);
  CHECK(WIFEXITED(status));
  CHECK_EQUAL(WEXITSTATUS(status), 0);
  meet();
}
