// The time window in which a benchmark counts, and the bytes counted in it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "sortcore/clock.hpp"

namespace sortcore {

// Begins after a warm-up, lasts `seconds`, and is divided into intervals for the course over time.
class Window {
 public:
  Window(double warm_up_s, double seconds, double interval_s)
      : warm_up_s_(warm_up_s), seconds_(seconds), interval_s_(std::min(interval_s, seconds)) {}

  void start() { start_ = Clock::now(); }
  // Seconds since the warm-up ended; negative during it.
  double now() const { return seconds_since(start_) - warm_up_s_; }
  bool is_over() const { return stopped_.load(std::memory_order_relaxed) || now() >= seconds_; }
  // Ends the window early; its counts are invalid then.
  void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }

  double warm_up_s() const noexcept { return warm_up_s_; }
  double seconds() const noexcept { return seconds_; }
  double interval_s() const noexcept { return interval_s_; }
  // Whole intervals; bytes after the last of them count in the total only.
  std::size_t intervals() const noexcept {
    return static_cast<std::size_t>(seconds_ / interval_s_ * (1 + 1e-9));
  }

 private:
  double warm_up_s_;
  double seconds_;
  double interval_s_;
  Clock::time_point start_ = Clock::now();
  std::atomic<bool> stopped_{false};
};

// Bytes of transfers completed within a window. Threads may add at once.
class Meter {
 public:
  explicit Meter(const Window& window) : window_(window), by_interval_(window.intervals()) {}

  void add(std::uint64_t bytes) noexcept {
    const double now = window_.now();
    if (now < 0 || now >= window_.seconds()) return;
    total_.fetch_add(bytes, std::memory_order_relaxed);
    const auto interval = static_cast<std::size_t>(now / window_.interval_s());
    if (interval < by_interval_.size()) by_interval_[interval].fetch_add(bytes, std::memory_order_relaxed);
  }

  std::uint64_t bytes() const noexcept { return total_.load(std::memory_order_relaxed); }
  std::vector<std::uint64_t> bytes_by_interval() const { return {by_interval_.begin(), by_interval_.end()}; }

 private:
  const Window& window_;
  std::atomic<std::uint64_t> total_{0};
  std::vector<std::atomic<std::uint64_t>> by_interval_;
};

}  // namespace sortcore
