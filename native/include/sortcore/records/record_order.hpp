// The order of records that are entirely keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sortcore {

// Fills `order` with the numbers of the records, the least first; equal ones keep their order. Threads: 0
// takes all available. Throws Error(bad_input) for too many records, or another number of them.
void record_order(std::span<const std::byte> records, std::uint32_t record_bytes, unsigned threads,
                  std::span<std::uint32_t> order);

}  // namespace sortcore
