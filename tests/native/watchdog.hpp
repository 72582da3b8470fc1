// Ends a test that stands still, however slow the machine is.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "sortcore/progress.hpp"

// Cancels the progress it watches once a minute has passed without a call of `watch`. The cancelled call
// throws Error(cancelled), and the test fails.
class Watchdog {
 public:
  Watchdog() : thread_([this] { run(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Watches from now on; null for no progress.
  void watch(sortcore::Progress* progress) {
    const std::lock_guard lock(mutex_);
    watched_ = progress;
    ++turn_;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!ends_) {
      const std::uint64_t turn = turn_;
      const bool stirred = changed_.wait_for(lock, std::chrono::minutes(1), [&] { return ends_; });
      if (!stirred && turn == turn_ && watched_ != nullptr) watched_->cancel();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  sortcore::Progress* watched_ = nullptr;
  std::uint64_t turn_ = 0;
  bool ends_ = false;
  std::thread thread_;
};
