#include "large_bucket.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sortcore {
namespace {

constexpr unsigned digit_bits = 8;
constexpr std::size_t digit_values = 256;
constexpr std::size_t sorted_in_cache = 2048;
using Offsets = std::array<std::size_t, digit_values + 1>;

std::size_t digit(Entry entry, unsigned lowest_bit) { return (entry >> lowest_bit) & (digit_values - 1); }

// offsets[d] .. offsets[d + 1] is where entries with digit d belong.
Offsets find_offsets(const BlockedEntries& entries, std::size_t begin, std::size_t end, unsigned lowest_bit) {
  Offsets offsets{};
  for (std::size_t i = begin; i < end; ++i) ++offsets[digit(entries[i], lowest_bit) + 1];
  offsets[0] = begin;
  for (std::size_t value = 0; value < digit_values; ++value) offsets[value + 1] += offsets[value];
  return offsets;
}

// Swaps every entry to where its digit belongs (the American flag).
void permute(const BlockedEntries& entries, const Offsets& offsets, unsigned lowest_bit) {
  Offsets next = offsets;
  for (std::size_t value = 0; value < digit_values; ++value) {
    while (next[value] < offsets[value + 1]) {
      Entry entry = entries[next[value]];
      for (std::size_t to = digit(entry, lowest_bit); to != value; to = digit(entry, lowest_bit)) {
        std::swap(entry, entries[next[to]++]);
      }
      entries[next[value]++] = entry;
    }
  }
}

void sort_few(const BlockedEntries& entries, std::size_t begin, std::size_t end) {
  std::array<Entry, sorted_in_cache> few;
  for (std::size_t i = begin; i < end; ++i) few[i - begin] = entries[i];
  std::sort(few.data(), few.data() + (end - begin));
  for (std::size_t i = begin; i < end; ++i) entries[i] = few[i - begin];
}

void sort_range(const BlockedEntries& entries, std::size_t begin, std::size_t end, unsigned bits) {
  if (end - begin <= sorted_in_cache) return sort_few(entries, begin, end);
  const unsigned lowest_bit = bits - digit_bits;
  const Offsets offsets = find_offsets(entries, begin, end, lowest_bit);
  permute(entries, offsets, lowest_bit);
  if (lowest_bit == 0) return;
  for (std::size_t value = 0; value < digit_values; ++value) {
    sort_range(entries, offsets[value], offsets[value + 1], lowest_bit);
  }
}

}  // namespace

BlockedEntries::BlockedEntries(const EntryBlocks& blocks, std::size_t bucket) {
  std::size_t before = entries_per_block;  // in the stretch before: a partial one ends a thread's chain
  std::size_t position = 0;
  blocks.for_each_stretch(bucket, [&](Entry* entries, std::size_t count) {
    if (chains_.empty() || before != entries_per_block) chains_.push_back({position, position, {}});
    chains_.back().blocks.push_back(entries);
    chains_.back().end = position += count;
    before = count;
  });
}

void sort_large_bucket(const BlockedEntries& entries) { sort_range(entries, 0, entries.size(), 64); }

}  // namespace sortcore
