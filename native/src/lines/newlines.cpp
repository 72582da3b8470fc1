#include "lines/newlines.hpp"

#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sortcore {
namespace {

std::uint64_t count_portably(std::span<const std::byte> text, std::byte line_end) noexcept {
  return static_cast<std::uint64_t>(std::ranges::count(text, line_end));
}

bool list_portably(std::span<const std::byte> text, std::uint64_t offset, std::span<std::uint64_t> starts,
                   std::byte line_end) noexcept {
  std::size_t listed = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != line_end) continue;
    if (listed == starts.size()) return false;
    starts[listed++] = offset + i + 1;
  }
  return listed == starts.size();
}

#if defined(__x86_64__)

constexpr std::size_t stretch_bytes = 64;

// Bit i tells whether byte i of 64 ends a line.
__attribute__((target("avx2"))) inline std::uint64_t avx2_mask(const std::byte* at,
                                                               std::byte line_end) noexcept {
  const __m256i wanted = _mm256_set1_epi8(static_cast<char>(line_end));
  const auto half = [&](const std::byte* from) __attribute__((target("avx2"))) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, wanted)));
  };
  return half(at) | std::uint64_t{half(at + stretch_bytes / 2)} << 32;
}

__attribute__((target("avx2,popcnt"))) std::uint64_t count_with_avx2(std::span<const std::byte> text,
                                                                     std::byte line_end) noexcept {
  const std::size_t whole = text.size() / stretch_bytes * stretch_bytes;
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < whole; at += stretch_bytes)
    count += static_cast<std::uint64_t>(_mm_popcnt_u64(avx2_mask(text.data() + at, line_end)));
  return count + count_portably(text.subspan(whole), line_end);
}

__attribute__((target("avx2,popcnt"))) bool list_with_avx2(std::span<const std::byte> text,
                                                           std::uint64_t offset,
                                                           std::span<std::uint64_t> starts,
                                                           std::byte line_end) noexcept {
  const std::size_t whole = text.size() / stretch_bytes * stretch_bytes;
  std::uint64_t* next = starts.data();
  std::uint64_t* const end = next + starts.size();
  for (std::size_t at = 0; at < whole; at += stretch_bytes) {
    std::uint64_t mask = avx2_mask(text.data() + at, line_end);
    if (end - next < _mm_popcnt_u64(mask)) return false;
    for (; mask != 0; mask &= mask - 1)
      *next++ = offset + at + static_cast<std::uint64_t>(std::countr_zero(mask)) + 1;
  }
  return list_portably(text.subspan(whole), offset + whole, {next, end}, line_end);
}

bool has_avx2() noexcept {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
  return has;
}

#endif

}  // namespace

std::uint64_t count_newlines(std::span<const std::byte> text, std::byte line_end) noexcept {
#if defined(__x86_64__)
  if (has_avx2()) return count_with_avx2(text, line_end);
#endif
  return count_portably(text, line_end);
}

bool list_line_starts(std::span<const std::byte> text, std::uint64_t offset, std::span<std::uint64_t> starts,
                      std::byte line_end) noexcept {
#if defined(__x86_64__)
  if (has_avx2()) return list_with_avx2(text, offset, starts, line_end);
#endif
  return list_portably(text, offset, starts, line_end);
}

}  // namespace sortcore
