// Explanations of a sort's choices, in words for `--explain`.
#pragma once

#include <span>
#include <vector>

#include "sortcore/external/depth_probe.hpp"
#include "sortcore/external/external_plan.hpp"
#include "sortcore/external/one_pass.hpp"
#include "sortcore/external/sort_report.hpp"
#include "sortcore/io/file.hpp"

namespace sortcore {

// Reasons for a queue depth that does not come from a trial of the disks.
inline constexpr const char* depth_was_given = "given";
inline constexpr const char* disks_were_not_tried =
    "the usual; disks are tried for more data, in more memory, with direct transfers";

// The depth of each tried device.
std::vector<Choice> explain_disks(std::span<const DeviceDepth> depths);
std::vector<Choice> explain_one_pass(const OnePassPlan& plan, const PlanRequest& request, const File& output);
std::vector<Choice> explain_two_passes(const ExternalPlan& plan, const SortReport& report, const File& input,
                                       const File& output);

}  // namespace sortcore
