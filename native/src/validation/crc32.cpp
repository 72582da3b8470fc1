#include "sortcore/validation/crc32.hpp"

#include "validation/crc32_tables.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sortcore {
namespace {

#if defined(__x86_64__)

// Carry-less multiplication folds 16 bytes at a time onto the next 16. Multiplying by x^128 and x^192 modulo
// the polynomial moves the two halves of the register past them (Gopal et al., "Fast CRC Computation for
// Generic Polynomials Using PCLMULQDQ Instruction", Intel 2009). All constants are bit-reversed, as the CRC
// is. A multiplication takes several cycles, and another can begin in each: so long data uses four registers.
constexpr long long x_to_192 = 0x0ccaa009e, x_to_128 = 0x1751997d0, x_to_64 = 0x163cd6124;
constexpr long long x_to_576 = 0x1c6e41596, x_to_512 = 0x154442bd4;
constexpr long long polynomial = 0x1db710641, barrett_quotient = 0x1f7011641;

__attribute__((target("pclmul,sse4.1"))) inline __m128i load(const std::byte* from) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
}

// The remainder of `value` after the bytes that `by` moves it past, which end with `next`.
__attribute__((target("pclmul,sse4.1"))) inline __m128i fold_onto(__m128i value, __m128i by, __m128i next) {
  return _mm_xor_si128(_mm_xor_si128(_mm_clmulepi64_si128(value, by, 0x00), next),
                       _mm_clmulepi64_si128(value, by, 0x11));
}

// 128 bits modulo the polynomial: to 96 bits, to 64, then by Barrett's reduction to 32.
__attribute__((target("pclmul,sse4.1"))) inline std::uint32_t reduce(__m128i value, __m128i fold) {
  const __m128i low_words = _mm_setr_epi32(-1, 0, -1, 0);
  value = _mm_xor_si128(_mm_srli_si128(value, 8), _mm_clmulepi64_si128(value, fold, 0x10));
  value = _mm_xor_si128(_mm_srli_si128(value, 4), _mm_clmulepi64_si128(_mm_and_si128(value, low_words),
                                                                       _mm_set_epi64x(0, x_to_64), 0x00));
  const __m128i barrett = _mm_set_epi64x(barrett_quotient, polynomial);
  const __m128i quotient = _mm_clmulepi64_si128(_mm_and_si128(value, low_words), barrett, 0x10);
  value = _mm_xor_si128(value, _mm_clmulepi64_si128(_mm_and_si128(quotient, low_words), barrett, 0x00));
  return static_cast<std::uint32_t>(_mm_extract_epi32(value, 1));
}

__attribute__((target("pclmul,sse4.1"))) std::uint32_t crc32_by_pclmul(const std::byte* data,
                                                                       std::size_t bytes) {
  if (bytes < 16) return crc32_by_tables(data, bytes);
  const __m128i fold = _mm_set_epi64x(x_to_192, x_to_128);
  __m128i value = _mm_xor_si128(load(data), _mm_cvtsi32_si128(-1));
  if (bytes >= 128) {
    const __m128i fold_by_four = _mm_set_epi64x(x_to_576, x_to_512);
    __m128i second = load(data + 16), third = load(data + 32), fourth = load(data + 48);
    for (; bytes >= 128; bytes -= 64) {
      data += 64;
      value = fold_onto(value, fold_by_four, load(data));
      second = fold_onto(second, fold_by_four, load(data + 16));
      third = fold_onto(third, fold_by_four, load(data + 32));
      fourth = fold_onto(fourth, fold_by_four, load(data + 48));
    }
    value = fold_onto(fold_onto(fold_onto(value, fold, second), fold, third), fold, fourth);
    data += 48, bytes -= 48;
  }
  for (data += 16, bytes -= 16; bytes >= 16; data += 16, bytes -= 16) {
    value = fold_onto(value, fold, load(data));
  }
  return ~crc::update_by_tables(reduce(value, fold), data, bytes);
}

#endif

Crc32Function choose() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1")) return crc32_by_pclmul;
#endif
  return crc32_by_tables;
}

}  // namespace

Crc32Function crc32_function() noexcept {
  static const Crc32Function chosen = choose();
  return chosen;
}

}  // namespace sortcore
