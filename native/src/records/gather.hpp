// Copying records out in a given order, at the speed of memory itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sortcore/records/record_array.hpp"

namespace sortcore {

// Copies record order[0], order[1], ... of `records` to `out`, one after another. `streaming` bypasses the
// cache, for outputs that are not read soon.
void gather_records(const RecordArray& records, const std::uint32_t* order, std::size_t count, std::byte* out,
                    bool streaming);

}  // namespace sortcore
