#include "sortcore/external/sort_report.hpp"

#include <utility>

namespace sortcore {

StageReport report_stage(std::string name, unsigned threads, const StageClock& clock) {
  constexpr double ns = 1e-9;
  const double waited_s = static_cast<double>(clock.waited_ns) * ns;
  return {std::move(name), threads, static_cast<double>(clock.lived_ns) * ns - waited_s, waited_s,
          clock.bytes};
}

}  // namespace sortcore
