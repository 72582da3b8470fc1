// 128-bit unsigned integers: record numbers and checksums of the sort benchmark.
#pragma once

#include <cstdint>

namespace sortcore {

__extension__ using U128 = unsigned __int128;

constexpr U128 make_u128(std::uint64_t high, std::uint64_t low) { return (U128{high} << 64) | low; }
constexpr std::uint64_t high64(U128 value) { return static_cast<std::uint64_t>(value >> 64); }
constexpr std::uint64_t low64(U128 value) { return static_cast<std::uint64_t>(value); }

}  // namespace sortcore
