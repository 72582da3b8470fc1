// What an entry costs to sort in buckets of the size they have at 10 million records, and at more.
//
//   bench_buckets     16.8 million entries on one thread, the best of three rounds, in lines of JSON
#include <algorithm>
#include <cstdio>
#include <limits>
#include <vector>

#include "random_sequence.hpp"
#include "records/bucket_sort.hpp"
#include "records/ordering.hpp"
#include "sortcore/clock.hpp"

namespace {
using namespace sortcore;

constexpr std::uint64_t all_entries = std::uint64_t{1} << 24;

double ns_per_entry(std::uint64_t entries_per_bucket) {
  const std::uint64_t buckets = all_entries / entries_per_bucket;
  const Range all{0, buckets * entries_per_bucket};
  const EntryLayout layout = EntryLayout::for_records(all.end);
  EntryBlocks blocks;
  blocks.reset(buckets, {&all, 1});
  RandomSequence random(entries_per_bucket);
  for (std::uint64_t i = 0; i < all.end; ++i) {
    blocks.appender(0).append(i % buckets, (random.next() & ~layout.index_mask()) | i);
  }
  std::vector<std::uint32_t> indices(entries_per_bucket);
  BucketSorter sorter;
  double best_s = std::numeric_limits<double>::max();
  for (int round = 0; round < 3; ++round) {
    const auto start = Clock::now();
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      if (bucket + 1 < buckets) blocks.prefetch(bucket + 1);
      sorter.sort(blocks, bucket, layout, indices.data());
    }
    best_s = std::min(best_s, seconds_since(start));
  }
  return best_s * 1e9 / static_cast<double>(all.end);
}
}  // namespace

int main() {
  for (const std::uint64_t records :
       {10'000'000ULL, 40'000'000ULL, 100'000'000ULL, 400'000'000ULL, 4'294'967'296ULL}) {
    const std::uint64_t entries = records >> bucket_bits_for(records);
    std::printf("{\"records\": %llu, \"entries_per_bucket\": %llu, \"ns_per_entry\": %.2f}\n",
                static_cast<unsigned long long>(records), static_cast<unsigned long long>(entries),
                ns_per_entry(entries));
  }
}
