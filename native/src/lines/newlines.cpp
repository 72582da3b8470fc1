#include "lines/newlines.hpp"

#include <bit>
#include <cstring>

#include "byte_mask.hpp"
#include "processor.hpp"

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

SORTCORE_AVX2 std::uint64_t count_with_avx2(std::span<const std::byte> text, std::byte line_end) noexcept {
  const std::size_t whole = text.size() / mask_bytes * mask_bytes;
  std::uint64_t count = 0;
  for (std::size_t at = 0; at < whole; at += mask_bytes)
    count += static_cast<std::uint64_t>(_mm_popcnt_u64(avx2_mask_of(text.data() + at, line_end)));
  return count + count_portably(text.subspan(whole), line_end);
}

SORTCORE_AVX2 bool list_with_avx2(std::span<const std::byte> text, std::uint64_t offset,
                                  std::span<std::uint64_t> starts, std::byte line_end) noexcept {
  const std::size_t whole = text.size() / mask_bytes * mask_bytes;
  std::uint64_t* next = starts.data();
  std::uint64_t* const end = next + starts.size();
  for (std::size_t at = 0; at < whole; at += mask_bytes) {
    std::uint64_t mask = avx2_mask_of(text.data() + at, line_end);
    if (end - next < _mm_popcnt_u64(mask)) return false;
    for (; mask != 0; mask &= mask - 1)
      *next++ = offset + at + static_cast<std::uint64_t>(std::countr_zero(mask)) + 1;
  }
  return list_portably(text.subspan(whole), offset + whole, {next, end}, line_end);
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
