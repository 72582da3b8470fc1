// Records that will be copied next: whoever works in the cache meanwhile asks for their memory on the way.
//
// Sorting a bucket keeps the processor busy and the memory idle, copying records out does the opposite;
// asking for the records of one bucket while the next is being sorted makes them overlap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sortcore {

inline constexpr std::size_t cache_line_bytes = 64;

// Into the second-level cache, which can wait for more lines at once than the first.
inline void prefetch_record(const std::byte* record, std::size_t record_bytes) noexcept {
  constexpr int second_level = 2;
  for (std::size_t at = 0; at < std::min<std::size_t>(record_bytes, 4 * cache_line_bytes);
       at += cache_line_bytes) {
    __builtin_prefetch(record + at, 0, second_level);
  }
  __builtin_prefetch(record + record_bytes - 1, 0, second_level);
}

class UpcomingRecords {
 public:
  UpcomingRecords() = default;
  // At most what leaves half of a second-level cache to the work in between.
  UpcomingRecords(const std::byte* records, const std::uint32_t* order, std::size_t count,
                  std::size_t record_bytes)
      : records_(records),
        next_(order),
        end_(order + std::min(count, most_bytes / (record_bytes + cache_line_bytes))),
        record_bytes_(record_bytes) {}

  void ask_for_one() noexcept {
    if (next_ != end_) prefetch_record(records_ + std::size_t{*next_++} * record_bytes_, record_bytes_);
  }

 private:
  static constexpr std::size_t most_bytes = std::size_t{1} << 20;

  const std::byte* records_ = nullptr;
  const std::uint32_t* next_ = nullptr;
  const std::uint32_t* end_ = nullptr;
  std::size_t record_bytes_ = 0;
};

}  // namespace sortcore
