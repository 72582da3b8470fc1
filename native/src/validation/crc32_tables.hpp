// The tables of crc32_by_tables, and the step that carries a CRC register over some bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sortcore::crc {

// Updates the inner (not inverted) register with `bytes` more bytes.
std::uint32_t update_by_tables(std::uint32_t state, const std::byte* data, std::size_t bytes);

}  // namespace sortcore::crc
