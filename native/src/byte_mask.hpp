// The positions of a byte among 64 bytes, as the bits of an integer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "processor.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sortcore {

inline constexpr std::size_t mask_bytes = 64;

// Bit i is set if byte i is `wanted`.
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

// Bit i is set if an odd number of the bits up to i is set.
inline std::uint64_t odd_so_far(std::uint64_t bits) noexcept {
  for (unsigned shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

#if defined(__x86_64__)

// The two functions above by AVX2.
SORTCORE_AVX2 inline std::uint64_t avx2_mask_of(const std::byte* at, std::byte wanted) noexcept {
  constexpr std::size_t half = mask_bytes / 2;
  const __m256i all = _mm256_set1_epi8(static_cast<char>(wanted));
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + half));
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, all))) |
         std::uint64_t{static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, all)))}
             << half;
}
SORTCORE_AVX2 inline std::uint64_t avx2_odd_so_far(std::uint64_t bits) noexcept {
  const __m128i ones = _mm_set1_epi8(-1);  // a carry-less product sums all lower bits
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(bits)), ones, 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}

#endif

// Calls `use(block, first byte of it, bytes of it that count)` for 64 bytes at a time, the last padded with
// zeros, until it returns false.
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
