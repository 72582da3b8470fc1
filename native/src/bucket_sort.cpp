#include "bucket_sort.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace sortcore {
namespace {

constexpr unsigned digit_bits = 8;
constexpr std::size_t digit_values = 256;
constexpr std::size_t few_entries = 48;  // insertion alone is fastest
constexpr std::size_t passes_at_most = 64 / digit_bits;
using Counts = std::array<std::uint32_t, digit_values>;

unsigned digit(Entry entry, unsigned lowest_bit) { return (entry >> lowest_bit) & (digit_values - 1); }

// The digits, from the top, that separate nearly all of `count` evenly spread keys.
unsigned digits_for(std::size_t count, const EntryLayout& layout) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(count)) + 3;
  return (std::min(bits, layout.key_bits()) + digit_bits - 1) / digit_bits;
}

// Sorts entries that are nearly in order. Gives up, with the entries permuted, when it has moved more than a
// few for each: then the keys were not evenly spread.
bool finish_by_insertion(Entry* entries, std::size_t count) {
  std::size_t moves_left = 8 * count;
  for (std::size_t i = 1; i < count; ++i) {
    const Entry entry = entries[i];
    std::size_t to = i;
    for (; to > 0 && entries[to - 1] > entry; --to) entries[to] = entries[to - 1];
    entries[to] = entry;
    if (i - to > moves_left) return false;
    moves_left -= i - to;
  }
  return true;
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

std::span<const Entry> BucketSorter::sort(const EntryBlocks& blocks, std::size_t bucket,
                                          const EntryLayout& layout, UpcomingRecords& upcoming) {
  const std::size_t count = blocks.entries_in(bucket);
  if (count == 0) return {};
  reserve(count);
  if (count > few_entries) {
    const unsigned digits = digits_for(count, layout);
    Entry* const sorted = sort_digits(blocks, bucket, 64 - digits * digit_bits, upcoming);
    if (finish_by_insertion(sorted, count)) return {sorted, count};
    return {sort_digits(blocks, bucket, layout.index_bits, upcoming), count};
  }
  Entry* to = front_.data();
  blocks.for_each_stretch(bucket,
                          [&](const Entry* from, std::size_t some) { to = std::copy_n(from, some, to); });
  finish_by_insertion(front_.data(), count) || (std::sort(front_.data(), front_.data() + count), true);
  return {front_.data(), count};
}

// Least significant digit first, from `lowest_bit` up; entries arrive by index, so that equal keys stay in
// order.
Entry* BucketSorter::sort_digits(const EntryBlocks& blocks, std::size_t bucket, unsigned lowest_bit,
                                 UpcomingRecords& upcoming) {
  const unsigned passes = (64 - lowest_bit + digit_bits - 1) / digit_bits;
  const auto bit_of = [&](unsigned pass) { return lowest_bit + pass * digit_bits; };
  std::array<Counts, passes_at_most> counts;
  for (unsigned pass = 0; pass < passes; ++pass) counts[pass].fill(0);
  blocks.for_each_stretch(bucket, [&](const Entry* from, std::size_t some) {
    for (std::size_t i = 0; i < some; ++i) {
      for (unsigned pass = 0; pass < passes; ++pass) ++counts[pass][digit(from[i], bit_of(pass))];
    }
  });
  const std::size_t count = blocks.entries_in(bucket);
  Entry* from = front_.data();
  Entry* to = back_.data();
  for (unsigned pass = 0; pass < passes; ++pass) {
    Counts& offsets = counts[pass];
    const unsigned bit = bit_of(pass);
    const auto scatter = [&](const Entry* entries, std::size_t some) {
      for (std::size_t i = 0; i < some; ++i) {
        to[offsets[digit(entries[i], bit)]++] = entries[i];
        if (i % 2 == 0) upcoming.ask_for_one();
      }
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
