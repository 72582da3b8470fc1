// Distribution sort: sample, distribute, and sort partition after partition.
#pragma once

#include <vector>

#include "sortcore/external/block_source.hpp"
#include "sortcore/external/external_plan.hpp"
#include "sortcore/external/sort_report.hpp"
#include "sortcore/io/output_file.hpp"

namespace sortcore {

// Sorts all of `source` into `outputs`, sets their sizes, and fills in the report's phases and counters.
void sort_in_two_passes(FilesSource& source, const RecordFormat& format, std::span<OutputFile> outputs,
                        ScratchFiles& scratch, const ExternalPlan& plan, Progress* progress,
                        SortReport& report);

}  // namespace sortcore
