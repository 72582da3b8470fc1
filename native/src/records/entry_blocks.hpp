// Entries of many buckets, appended by several threads in one pass without counting first: each bucket is a
// chain of small blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "prefetch.hpp"
#include "records/entry.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {

inline constexpr std::size_t entries_per_block = 128;
inline constexpr std::size_t block_alignment = entries_per_block * sizeof(Entry);

class EntryBlocks {
 public:
  // The largest number of blocks that `records`, appended by `threads` threads to `buckets` buckets, can
  // fill.
  static std::uint64_t blocks_needed(std::uint64_t records, std::size_t buckets, unsigned threads) {
    return records / entries_per_block + std::uint64_t{threads} * (buckets + 1);
  }

  // Empties all buckets and makes room for the records of each thread's part.
  void reset(std::size_t buckets, std::span<const Range> parts);

  // One thread's target; it takes blocks from its own stretch, so that threads never meet.
  class Appender {
   public:
    void append(std::size_t bucket, Entry entry) noexcept {
      Entry*& cursor = cursors_[bucket];
      *cursor++ = entry;
      if (reinterpret_cast<std::uintptr_t>(cursor) % block_alignment == 0) [[unlikely]] {
        extend(bucket);
      }
    }

   private:
    friend class EntryBlocks;
    void reset(Entry* entries, std::uint32_t* next, std::uint32_t first, std::size_t buckets);
    void extend(std::size_t bucket) noexcept;

    std::uint32_t block_of(const Entry* in_block) const noexcept {
      return static_cast<std::uint32_t>(static_cast<std::size_t>(in_block - entries_) / entries_per_block);
    }

    Entry* entries_ = nullptr;
    std::uint32_t* next_ = nullptr;
    std::uint32_t unused_ = 0;           // the first block not yet taken
    std::vector<Entry*> cursors_;        // where the bucket's next entry goes
    std::vector<std::uint32_t> heads_;   // the bucket's first block
    std::vector<std::uint32_t> filled_;  // the bucket's full blocks
  };
  Appender& appender(unsigned thread) noexcept { return appenders_[thread]; }

  std::size_t buckets() const noexcept { return buckets_; }
  std::uint64_t entries_in(std::size_t bucket) const noexcept;

  // Calls visit(entries, count) for the stretches of a bucket, in the order of threads and of appending.
  // Stretches may be changed where they are.
  template <typename Visit>
  void for_each_stretch(std::size_t bucket, Visit visit) const {
    for (const Appender& appender : appenders_) {
      std::uint32_t block = appender.heads_[bucket];
      for (std::uint32_t full = appender.filled_[bucket]; full != 0; --full, block = next_[block]) {
        visit(appender.entries_ + std::size_t{block} * entries_per_block, entries_per_block);
      }
      Entry* const last = appender.entries_ + std::size_t{block} * entries_per_block;
      if (const auto rest = static_cast<std::size_t>(appender.cursors_[bucket] - last); rest != 0)
        visit(last, rest);
    }
  }

  // Prefetches a bucket that will be visited soon.
  void prefetch(std::size_t bucket) const noexcept {
    constexpr std::size_t entries_per_line = cache_line_bytes / sizeof(Entry);
    for_each_stretch(bucket, [](const Entry* entries, std::size_t count) {
      for (std::size_t i = 0; i < count; i += entries_per_line) prefetch_line(entries + i);
    });
  }

 private:
  std::size_t buckets_ = 0;
  Buffer memory_;
  std::vector<std::uint32_t> next_;  // the block that follows a block
  std::vector<Appender> appenders_;
};

}  // namespace sortcore
