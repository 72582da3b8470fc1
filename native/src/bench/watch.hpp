// The progress of a benchmark in time, so that a waiting user sees how long it still takes.
#pragma once

#include <cstdint>

#include "sortcore/bench/window.hpp"
#include "sortcore/io/monitor.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

// Counts milliseconds as a phase of `progress` until the window is over or the pipeline has failed.
// Throws Error(cancelled).
void watch(const Window& window, Monitor& monitor, Progress* progress, std::uint32_t phase);

}  // namespace sortcore
