// The clock for all timings.
#pragma once

#include <chrono>
#include <cstdint>

namespace sortcore {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
inline std::uint64_t nanoseconds_of(Clock::time_point time) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}
inline std::uint64_t nanoseconds_since(Clock::time_point start) {
  return nanoseconds_of(Clock::now()) - nanoseconds_of(start);
}

}  // namespace sortcore
