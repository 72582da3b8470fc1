#include "sortcore/external/sort_report.hpp"

#include <utility>

#include "sortcore/threads.hpp"

namespace sortcore {

StageReport report_stage(std::string name, unsigned threads, const StageClock& clock) {
  constexpr double ns = 1e-9;
  const double waited_s = static_cast<double>(clock.waited_ns) * ns;
  return {std::move(name), threads, static_cast<double>(clock.lived_ns) * ns - waited_s, waited_s,
          clock.bytes};
}

PhaseWatch::PhaseWatch(Monitor* monitor)
    : monitor_(monitor),
      before_(monitor == nullptr ? MeetingCounts{} : monitor->counts()),
      threads_before_(threads_started()) {}

PhaseReport PhaseWatch::report(std::string name, std::vector<StageReport> stages) const {
  const MeetingCounts now = monitor_ == nullptr ? MeetingCounts{} : monitor_->counts();
  return {std::move(name),
          seconds_since(start_),
          std::move(stages),
          {.hand_overs = now.hand_overs - before_.hand_overs,
           .lock_waits = now.lock_waits - before_.lock_waits,
           .sleeps = now.sleeps - before_.sleeps,
           .idle_wakes = now.idle_wakes - before_.idle_wakes,
           .late_wakes = now.late_wakes - before_.late_wakes},
          threads_started() - threads_before_};
}

}  // namespace sortcore
