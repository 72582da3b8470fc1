// Work handed from one stage to the next, in order of arrival.
#pragma once

#include <deque>
#include <optional>
#include <utility>

#include "sortcore/io/monitor.hpp"

namespace sortcore {

// It has no limit of its own: it carries blocks, whose number is limited. A piece of work wakes one waiting
// thread, the end wakes all.
template <typename Work>
class Queue {
 public:
  explicit Queue(Monitor& monitor) : monitor_(monitor), changed_(monitor) {}

  void push(Work work) {
    {
      const auto lock = monitor_.lock();
      work_.push_back(std::move(work));
      monitor_.count_hand_over();
    }
    changed_.notify_one();
  }

  // Ends the queue: nothing more will come.
  void close() {
    {
      const auto lock = monitor_.lock();
      closed_ = true;
    }
    changed_.notify_all();
  }

  // The next piece of work; nothing once the queue is closed and empty.
  std::optional<Work> pop(StageClock& clock) {
    auto lock = monitor_.lock();
    changed_.wait(lock, clock, [&] { return !work_.empty() || closed_; });
    if (work_.empty()) return std::nullopt;
    std::optional<Work> work(std::move(work_.front()));
    work_.pop_front();
    return work;
  }

 private:
  Monitor& monitor_;
  Condition changed_;
  std::deque<Work> work_;
  bool closed_ = false;
};

}  // namespace sortcore
