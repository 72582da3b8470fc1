// The progress of a running operation, and the request to cancel it: polled, never called back.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace sortcore {

// Shared between the working thread and its watchers. Writers add; watchers load. All operations are relaxed:
// the counters order nothing.
class Progress {
 public:
  Progress() noexcept;
  // Throws Error(bad_input) in a process forked from the one that made this: changes to a copy have no effect
  // there.
  void check_process() const;

  void begin_phase(std::uint32_t phase, std::uint64_t bytes_total) noexcept {
    bytes_done_.store(0, std::memory_order_relaxed);
    bytes_total_.store(bytes_total, std::memory_order_relaxed);
    phase_.store(phase, std::memory_order_relaxed);
  }
  void add_bytes(std::uint64_t bytes) noexcept { bytes_done_.fetch_add(bytes, std::memory_order_relaxed); }
  void cancel() noexcept { cancelled_.store(true, std::memory_order_relaxed); }

  // At most the total, if that is known: a newline added to an input does not count.
  std::uint64_t bytes_done() const noexcept {
    const std::uint64_t done = bytes_done_.load(std::memory_order_relaxed), total = bytes_total();
    return total == 0 ? done : std::min(done, total);
  }
  std::uint64_t bytes_total() const noexcept { return bytes_total_.load(std::memory_order_relaxed); }
  // Counted from 0 in the order in which the operation's documentation names its phases.
  std::uint32_t phase() const noexcept { return phase_.load(std::memory_order_relaxed); }
  bool is_cancelled() const noexcept { return cancelled_.load(std::memory_order_relaxed); }

  // Throws Error(cancelled) once `cancel` was called, and like `check_process`. Cheap enough for every block
  // of work.
  void throw_if_cancelled() const;

 private:
  std::atomic<std::uint64_t> bytes_done_{0};
  std::atomic<std::uint64_t> bytes_total_{0};
  std::atomic<std::uint32_t> phase_{0};
  std::atomic<bool> cancelled_{false};
  int process_;
};

// `progress` may be null everywhere in the core; these two keep the callers short.
inline void add_progress(Progress* progress, std::uint64_t bytes) noexcept {
  if (progress != nullptr) progress->add_bytes(bytes);
}
inline void throw_if_cancelled(const Progress* progress) {
  if (progress != nullptr) progress->throw_if_cancelled();
}

}  // namespace sortcore
