// Copying records out in a given order: what memory itself allows.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortcore {

// Copies record order[0], order[1], ... of `records` to `out`, one after another. `streaming` goes past the
// cache, for outputs that nobody reads soon.
void gather_records(const std::byte* records, const std::uint32_t* order, std::size_t count,
                    std::size_t record_bytes, std::byte* out, bool streaming);

}  // namespace sortcore
