// Merging sorted runs that lie in memory.
#pragma once

#include <cstddef>
#include <span>

#include "sortcore/progress.hpp"
#include "sortcore/records/record_format.hpp"

namespace sortcore {

// Merges `runs`, each sorted, into `out`, as large as all of them together. Stable: of equal keys those of
// the earlier run come first. Throws Error(bad_record) for half a record, Error(bad_input) when sizes do not
// add up.
void merge_runs(std::span<const std::span<const std::byte>> runs, std::span<std::byte> out,
                const RecordFormat& format, unsigned threads = 0, Progress* progress = nullptr);

}  // namespace sortcore
