#include "records/bucket_sort.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sortcore {
namespace {

constexpr unsigned digit_bits = 8;
constexpr std::size_t digit_values = 256;
constexpr std::size_t few_entries = 48;  // insertion alone is fastest
using Counts = std::array<std::uint32_t, digit_values>;

unsigned digit(Entry entry, unsigned lowest_bit) { return (entry >> lowest_bit) & (digit_values - 1); }

// The digits, from the top, that separate nearly all of `count` evenly spread keys.
unsigned digits_for(std::size_t count, const EntryLayout& layout) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(count)) + 3;
  return (std::min(bits, layout.key_bits()) + digit_bits - 1) / digit_bits;
}

struct Finished {
  bool in_order;
  bool has_ties;
};

// Sorts entries that are nearly in order, and their indices with them. Gives up, with the entries permuted,
// when it has moved more than a few for each: then the keys were not evenly spread.
Finished finish_by_insertion(Entry* entries, std::size_t count, const EntryLayout& layout,
                             std::uint32_t* indices) {
  std::size_t moves_left = 8 * count;
  Entry greatest = entries[0];
  Entry least_difference = ~Entry{0};  // between neighbours, as the exclusive or of them
  indices[0] = layout.index_of(greatest);
  for (std::size_t i = 1; i < count; ++i) {
    const Entry entry = entries[i];
    if (entry >= greatest) [[likely]] {
      least_difference = std::min(least_difference, entry ^ greatest);
      greatest = entry;
      indices[i] = layout.index_of(entry);
      continue;
    }
    std::size_t to = i;
    for (; to > 0 && entries[to - 1] > entry; --to) {
      entries[to] = entries[to - 1];
      indices[to] = indices[to - 1];
    }
    entries[to] = entry;
    indices[to] = layout.index_of(entry);
    least_difference = std::min(least_difference, entry ^ entries[to + 1]);
    if (to > 0) least_difference = std::min(least_difference, entry ^ entries[to - 1]);
    if (i - to > moves_left) return {.in_order = false, .has_ties = false};
    moves_left -= i - to;
  }
  return {.in_order = true, .has_ties = least_difference <= layout.index_mask()};
}

void to_offsets(Counts& counts) {
  std::uint32_t sum = 0;
  for (std::uint32_t& count : counts) sum += std::exchange(count, sum);
}

// True when one digit value has all entries, so that a pass would change nothing.
bool is_constant(const Counts& counts, std::size_t count, unsigned some_digit) {
  return counts[some_digit] == count;
}

}  // namespace

BucketSorter::Sorted BucketSorter::sort(const EntryBlocks& blocks, std::size_t bucket,
                                        const EntryLayout& layout, std::uint32_t* indices) {
  const std::size_t count = blocks.entries_in(bucket);
  if (count == 0) return {{}, false};
  reserve(count);
  Entry* sorted = front_.data();
  if (count > few_entries) {
    sorted = sort_digits(blocks, bucket, digits_for(count, layout));
  } else {
    Entry* to = sorted;
    blocks.for_each_stretch(bucket,
                            [&](const Entry* from, std::size_t some) { to = std::copy_n(from, some, to); });
  }
  Finished finished = finish_by_insertion(sorted, count, layout, indices);
  if (!finished.in_order) {
    sorted = sort_digits(blocks, bucket, (layout.key_bits() + digit_bits - 1) / digit_bits);
    finished = finish_by_insertion(sorted, count, layout, indices);
  }
  return {{sorted, count}, finished.has_ties};
}

// Sorts by the highest `digits` digits, the least significant of them first; entries arrive by index, so that
// equal keys stay in order.
Entry* BucketSorter::sort_digits(const EntryBlocks& blocks, std::size_t bucket, unsigned digits) {
  const unsigned lowest_bit = 64 - digits * digit_bits;
  switch (digits) {
    case 1:
      return sort_digits<1>(blocks, bucket, lowest_bit);
    case 2:
      return sort_digits<2>(blocks, bucket, lowest_bit);
    case 3:
      return sort_digits<3>(blocks, bucket, lowest_bit);
    case 4:
      return sort_digits<4>(blocks, bucket, lowest_bit);
    case 5:
      return sort_digits<5>(blocks, bucket, lowest_bit);
    case 6:
      return sort_digits<6>(blocks, bucket, lowest_bit);
    default:
      return sort_digits<8>(blocks, bucket, 0);
  }
}

template <unsigned Passes>
Entry* BucketSorter::sort_digits(const EntryBlocks& blocks, std::size_t bucket, unsigned lowest_bit) {
  std::array<Counts, Passes> counts{};
  blocks.for_each_stretch(bucket, [&](const Entry* from, std::size_t some) {
    for (std::size_t i = 0; i < some; ++i) {
      for (unsigned pass = 0; pass < Passes; ++pass)
        ++counts[pass][digit(from[i], lowest_bit + pass * digit_bits)];
    }
  });
  const std::size_t count = blocks.entries_in(bucket);
  Entry* from = front_.data();
  Entry* to = back_.data();
  for (unsigned pass = 0; pass < Passes; ++pass) {
    Counts& offsets = counts[pass];
    const unsigned bit = lowest_bit + pass * digit_bits;
    const auto scatter = [&offsets, bit, to](const Entry* entries, std::size_t some) {
      for (std::size_t i = 0; i < some; ++i) to[offsets[digit(entries[i], bit)]++] = entries[i];
    };
    if (pass != 0 && is_constant(offsets, count, digit(from[0], bit))) continue;
    to_offsets(offsets);
    if (pass == 0) {
      blocks.for_each_stretch(bucket, scatter);
    } else {
      scatter(from, count);
    }
    std::swap(from, to);
  }
  return from;
}

std::uint32_t* BucketSorter::index_buffer(std::size_t entries) {
  if (indices_.size() < entries) indices_.resize(entries);
  return indices_.data();
}

BucketSorterPool::Borrowed BucketSorterPool::borrow() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) idle_.push_back(std::make_unique<BucketSorter>());
  Borrowed sorter(idle_.back().release(), {this});
  idle_.pop_back();
  return sorter;
}

void BucketSorterPool::GiveBack::operator()(BucketSorter* sorter) const {
  const std::lock_guard lock(pool->mutex_);
  pool->idle_.emplace_back(sorter);
}

void BucketSorter::reserve(std::size_t entries) {
  if (front_.size() >= entries) return;
  front_.resize(entries);
  back_.resize(entries);
}

}  // namespace sortcore
