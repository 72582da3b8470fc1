#include "bench/watch.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace sortcore {

void watch(const Window& window, Monitor& monitor, Progress* progress, std::uint32_t phase) {
  const auto shown_ms = [&] {
    const double past_s = std::min(window.now(), window.seconds()) + window.warm_up_s();
    return static_cast<std::uint64_t>(std::max(past_s, 0.0) * 1000);
  };
  if (progress != nullptr) {
    const double total_s = window.warm_up_s() + window.seconds();
    progress->begin_phase(phase, static_cast<std::uint64_t>(total_s * 1000));
  }
  for (std::uint64_t last = 0; !window.is_over();) {
    monitor.check();
    const std::uint64_t now = shown_ms();
    add_progress(progress, now - last);
    last = now;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace sortcore
