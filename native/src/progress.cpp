#include "sortcore/progress.hpp"

#include <unistd.h>

#include <string>

#include "sortcore/error.hpp"

namespace sortcore {

Progress::Progress() noexcept : process_(::getpid()) {}

void Progress::check_process() const {
  const int here = ::getpid();
  if (here == process_) return;
  throw Error(ErrorCode::bad_input, "this Progress belongs to process " + std::to_string(process_) +
                                        ", and process " + std::to_string(here) +
                                        " was forked from it; make one in the process that uses it");
}

void Progress::throw_if_cancelled() const {
  check_process();
  if (is_cancelled()) throw Error(ErrorCode::cancelled, "cancelled");
}

}  // namespace sortcore
