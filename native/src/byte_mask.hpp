// Where in 64 bytes some byte is, as the bits of an integer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sortcore {

inline constexpr std::size_t mask_bytes = 64;

// Bit i tells whether byte i is `wanted`.
inline std::uint64_t mask_of(const std::byte* at, std::byte wanted) noexcept {
  std::uint64_t mask = 0;
#if defined(__SSE2__)
  const __m128i all = _mm_set1_epi8(static_cast<char>(wanted));
  for (unsigned part = 0; part < 4; ++part) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * part));
    const auto bits = static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, all)));
    mask |= std::uint64_t{bits} << 16 * part;
  }
#else
  for (unsigned i = 0; i < mask_bytes; ++i) mask |= std::uint64_t{at[i] == wanted} << i;
#endif
  return mask;
}

// Bit i tells whether an odd number of the bits up to i is set.
inline std::uint64_t odd_so_far(std::uint64_t bits) noexcept {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

// Calls `use(block, first byte of it, bytes of it that count)` for 64 bytes at a time, the last with zeros
// behind, until that returns false.
template <typename Use>
void for_each_block(const std::byte* at, const std::byte* end, const Use& use) {
  const std::byte* const begin = at;
  for (; static_cast<std::size_t>(end - at) >= mask_bytes; at += mask_bytes)
    if (!use(at, static_cast<std::size_t>(at - begin), mask_bytes)) return;
  if (at == end) return;
  std::array<std::byte, mask_bytes> padded{};
  std::memcpy(padded.data(), at, static_cast<std::size_t>(end - at));
  use(padded.data(), static_cast<std::size_t>(at - begin), static_cast<std::size_t>(end - at));
}

}  // namespace sortcore
