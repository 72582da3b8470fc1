// CRC-32 with zlib's polynomial, by the fastest instructions this CPU has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sortcore {

using Crc32Function = std::uint32_t (*)(const std::byte* data, std::size_t bytes);

// The function for this CPU, chosen on the first call: carry-less multiplication if available, else tables.
Crc32Function crc32_function() noexcept;

// By tables, 16 bytes at a time: works everywhere.
std::uint32_t crc32_by_tables(const std::byte* data, std::size_t bytes);

inline std::uint32_t crc32(std::span<const std::byte> data) {
  return crc32_function()(data.data(), data.size());
}

}  // namespace sortcore
