// Prefetching of memory.
#pragma once

#include <algorithm>
#include <cstddef>

namespace sortcore {

inline constexpr std::size_t cache_line_bytes = 64;

// Prefetches a record, or the beginning of a long one, into the second-level cache, which can wait for more
// cache lines at once than the first.
inline void prefetch_record(const std::byte* record, std::size_t record_bytes) noexcept {
  constexpr int second_level = 2;
  for (std::size_t at = 0; at < std::min<std::size_t>(record_bytes, 4 * cache_line_bytes);
       at += cache_line_bytes) {
    __builtin_prefetch(record + at, 0, second_level);
  }
  __builtin_prefetch(record + record_bytes - 1, 0, second_level);
}

// Prefetches a cache line into the second-level cache. The empty statement counts as an effect: without it
// GCC 12 treats a function that only prefetches as one that does nothing, and omits its calls.
inline void prefetch_line(const void* line) noexcept {
  constexpr int second_level = 2;
  __builtin_prefetch(line, 0, second_level);
  asm volatile("");
}

}  // namespace sortcore
