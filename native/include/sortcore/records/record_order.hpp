// In which order records come that are keys as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sortcore {

// Fills `order` with the numbers of the records, the least first; equal ones stay as they are. Threads: 0
// takes all that are available. Throws Error(bad_input) for too many records, or another number of them.
void record_order(std::span<const std::byte> records, std::uint32_t record_bytes, unsigned threads,
                  std::span<std::uint32_t> order);

}  // namespace sortcore
