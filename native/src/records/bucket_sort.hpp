// Sorting the entries of one bucket, which fits in the cache.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "records/entry.hpp"
#include "records/entry_blocks.hpp"

namespace sortcore {

// One thread's workspace; it grows to the largest bucket it has seen.
class BucketSorter {
 public:
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;

  struct Sorted {
    std::span<const Entry> entries;  // in this workspace: valid until the next call
    bool has_ties;                   // entries that differ in their indices only
  };
  // The entries of a bucket in ascending order. Their indices go to `indices`, which has room for all.
  Sorted sort(const EntryBlocks& blocks, std::size_t bucket, const EntryLayout& layout,
              std::uint32_t* indices);

  // Room for the indices of one bucket, kept here so that it stays in the cache.
  std::uint32_t* index_buffer(std::size_t entries);

 private:
  template <unsigned Passes>
  Entry* sort_digits(const EntryBlocks& blocks, std::size_t bucket, unsigned lowest_bit);
  Entry* sort_digits(const EntryBlocks& blocks, std::size_t bucket, unsigned digits);
  void reserve(std::size_t entries);

  std::vector<Entry> front_;
  std::vector<Entry> back_;
  std::vector<std::uint32_t> indices_;
};

// Workspaces lent to the threads that sort buckets, and kept.
class BucketSorterPool {
 public:
  // Returns the workspace to the pool on release; the pool must live as long.
  struct GiveBack {
    BucketSorterPool* pool;
    void operator()(BucketSorter* sorter) const;
  };
  using Borrowed = std::unique_ptr<BucketSorter, GiveBack>;

  Borrowed borrow();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<BucketSorter>> idle_;
};

}  // namespace sortcore
