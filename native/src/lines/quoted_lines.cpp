#include "lines/quoted_lines.hpp"

#include <bit>

#include "byte_mask.hpp"
#include "lines/newlines.hpp"
#include "processor.hpp"

namespace sortcore {
namespace {

constexpr std::uint64_t all_of(bool value) noexcept { return value ? ~std::uint64_t{0} : 0; }

std::uint64_t count_bits(std::uint64_t bits) noexcept {
  return static_cast<std::uint64_t>(std::popcount(bits));
}

// Continues from the quote state in `count`.
void count_quoted_portably(std::span<const std::byte> text, std::byte quote, QuotedCount& count) noexcept {
  std::uint64_t within = all_of(count.flips);
  for_each_block(text.data(), text.data() + text.size(),
                 [&](const std::byte* block, std::size_t, std::size_t) {
                   const std::uint64_t ends = mask_of(block, newline), quotes = mask_of(block, quote);
                   const std::uint64_t quoted = odd_so_far(quotes) ^ within;
                   count.outside += count_bits(ends & ~quoted);
                   count.within += count_bits(ends & quoted);
                   within = all_of((quoted >> 63) != 0);
                   return true;
                 });
  count.flips = within != 0;
}

bool list_quoted_portably(std::span<const std::byte> text, std::uint64_t offset,
                          std::span<std::uint64_t> starts, std::byte quote, std::uint64_t within) noexcept {
  std::size_t listed = 0;
  for_each_block(
      text.data(), text.data() + text.size(), [&](const std::byte* block, std::size_t first, std::size_t) {
        const std::uint64_t quoted = odd_so_far(mask_of(block, quote)) ^ within;
        within = all_of((quoted >> 63) != 0);
        for (std::uint64_t ends = mask_of(block, newline) & ~quoted; ends != 0; ends &= ends - 1, ++listed) {
          if (listed >= starts.size()) return false;
          starts[listed] = offset + first + static_cast<std::uint64_t>(std::countr_zero(ends)) + 1;
        }
        return true;
      });
  return listed == starts.size();
}

#if defined(__x86_64__)

SORTCORE_AVX2 QuotedCount count_quoted_with_avx2(std::span<const std::byte> text, std::byte quote) noexcept {
  const std::size_t whole = text.size() / mask_bytes * mask_bytes;
  QuotedCount count;
  std::uint64_t within = 0;
  for (std::size_t at = 0; at < whole; at += mask_bytes) {
    const std::uint64_t ends = avx2_mask_of(text.data() + at, newline);
    const std::uint64_t quoted = avx2_odd_so_far(avx2_mask_of(text.data() + at, quote)) ^ within;
    count.outside += static_cast<std::uint64_t>(_mm_popcnt_u64(ends & ~quoted));
    count.within += static_cast<std::uint64_t>(_mm_popcnt_u64(ends & quoted));
    within = all_of((quoted >> 63) != 0);
  }
  count.flips = within != 0;
  count_quoted_portably(text.subspan(whole), quote, count);
  return count;
}

SORTCORE_AVX2 bool list_quoted_with_avx2(std::span<const std::byte> text, std::uint64_t offset,
                                         std::span<std::uint64_t> starts, std::byte quote,
                                         std::uint64_t within) noexcept {
  const std::size_t whole = text.size() / mask_bytes * mask_bytes;
  std::uint64_t* next = starts.data();
  std::uint64_t* const end = next + starts.size();
  for (std::size_t at = 0; at < whole; at += mask_bytes) {
    const std::uint64_t quoted = avx2_odd_so_far(avx2_mask_of(text.data() + at, quote)) ^ within;
    within = all_of((quoted >> 63) != 0);
    std::uint64_t ends = avx2_mask_of(text.data() + at, newline) & ~quoted;
    if (end - next < _mm_popcnt_u64(ends)) return false;
    for (; ends != 0; ends &= ends - 1)
      *next++ = offset + at + static_cast<std::uint64_t>(std::countr_zero(ends)) + 1;
  }
  return list_quoted_portably(text.subspan(whole), offset + whole, {next, end}, quote, within);
}

#endif

}  // namespace

QuotedCount count_quoted_lines(std::span<const std::byte> text, std::byte quote) noexcept {
#if defined(__x86_64__)
  if (has_avx2()) return count_quoted_with_avx2(text, quote);
#endif
  QuotedCount count;
  count_quoted_portably(text, quote, count);
  return count;
}

bool list_quoted_starts(std::span<const std::byte> text, std::uint64_t offset,
                        std::span<std::uint64_t> starts, std::byte quote, bool is_within) noexcept {
#if defined(__x86_64__)
  if (has_avx2()) return list_quoted_with_avx2(text, offset, starts, quote, all_of(is_within));
#endif
  return list_quoted_portably(text, offset, starts, quote, all_of(is_within));
}

std::size_t whole_quoted_lines(std::span<const std::byte> text, std::byte quote, bool ends_within) noexcept {
  bool within = ends_within;
  for (std::size_t at = text.size(); at > 0; --at) {
    if (text[at - 1] == newline && !within) return at;
    within ^= text[at - 1] == quote;
  }
  return 0;
}

const std::byte* find_quoted_end(const std::byte* at, const std::byte* end, std::byte quote,
                                 bool& is_within) noexcept {
  const std::byte* place = nullptr;
  std::uint64_t within = all_of(is_within);
  for_each_block(at, end, [&](const std::byte* block, std::size_t first, std::size_t) {
    const std::uint64_t quoted = odd_so_far(mask_of(block, quote)) ^ within;
    within = all_of((quoted >> 63) != 0);
    if (const std::uint64_t ends = mask_of(block, newline) & ~quoted; ends != 0)
      place = at + first + std::countr_zero(ends);
    return place == nullptr;
  });
  is_within = place == nullptr && within != 0;
  return place;
}

bool flips_quotes(std::span<const std::byte> text, std::byte quote) noexcept {
  return count_newlines(text, quote) % 2 != 0;
}

}  // namespace sortcore
