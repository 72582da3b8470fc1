// A classifier of keys by buckets, with splitters drawn from a sample: buckets are about equal whatever the
// distribution.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "records/key_window.hpp"

namespace sortcore {

// Most keys are classified by one table lookup among equal cells and two comparisons; those in cells with
// more than two splitters, where keys are crowded, descend a search tree.
class BucketClassifier {
 public:
  static constexpr std::size_t batch = 32;
  using Highs = std::array<std::uint64_t, batch>;
  using Buckets = std::array<std::uint32_t, batch>;

  // `sample`: high halves of key windows, in any order. There will be at most 2^bucket_bits buckets, fewer if
  // there are fewer distinct keys. A value that would fill a bucket gets its own.
  BucketClassifier(std::vector<std::uint64_t> sample, unsigned bucket_bits);

  std::size_t buckets() const noexcept { return shifts_.size(); }

  // The high halves of a bucket's key windows lie within 2^(64 - shift) from its lowest on; 0 to 63.
  unsigned shift_of(std::size_t bucket) const noexcept { return shifts_[bucket]; }
  // A key window relative to its bucket, the first bit that can differ moved to the top.
  std::uint64_t spread(std::uint32_t bucket, const KeyWindow& window) const noexcept {
    const unsigned shift = shifts_[bucket];
    return ((window.high - (bounds_[bucket] + 1)) << shift) | (window.low >> 1 >> (63 - shift));
  }

  // Free of branches that depend on the keys, so that the work on different keys overlaps.
  void classify(const Highs& highs, Buckets& buckets) const noexcept {
    const std::uint64_t* const highest = bounds_.data() + 1;
    std::array<std::uint32_t, batch + descents_at_once> crowded;
    std::size_t crowded_count = 0;
    for (std::size_t i = 0; i < batch; ++i) {
      const std::uint64_t key = highs[i];
      const Cell cell = cells_[std::min<std::uint64_t>((key - lowest_) >> cell_shift_, last_cell)];
      std::uint32_t bucket = cell & bucket_mask;
      bucket += key > highest[bucket];
      bucket += key > highest[bucket];
      buckets[i] = bucket;
      crowded[crowded_count] = static_cast<std::uint32_t>(i);
      crowded_count += (cell & crowded_mark) != 0;
    }
    for (std::size_t first = 0; first < crowded_count; first += descents_at_once) {
      for (std::size_t i = crowded_count; i < first + descents_at_once; ++i) crowded[i] = crowded[first];
      descend(highs, crowded.data() + first, buckets);
    }
  }

 private:
  using Cell = std::uint16_t;
  static constexpr Cell crowded_mark = 0x8000, bucket_mask = 0x7fff;
  static constexpr unsigned cell_bits = 13;
  static constexpr std::size_t last_cell = std::size_t{1} << cell_bits;  // of keys outside the sample's range

  // Several keys descend the tree side by side, so that their loads overlap.
  static constexpr std::size_t descents_at_once = 8;
  void descend(const Highs& highs, const std::uint32_t* which, Buckets& buckets) const noexcept {
    std::array<std::uint64_t, descents_at_once> keys;
    std::array<std::uint32_t, descents_at_once> nodes;
    for (std::size_t i = 0; i < descents_at_once; ++i) keys[i] = highs[which[i]];
    nodes.fill(1);
    for (unsigned level = 0; level < tree_levels_; ++level) {
      for (std::size_t i = 0; i < descents_at_once; ++i)
        nodes[i] = 2 * nodes[i] + static_cast<std::uint32_t>(keys[i] > tree_[nodes[i]]);
    }
    for (std::size_t i = 0; i < descents_at_once; ++i) buckets[which[i]] = nodes[i] - (1U << tree_levels_);
  }
  void fill_tree(std::size_t node, std::size_t& next);
  void fill_cells(std::uint64_t greatest);
  std::uint32_t bucket_of(std::uint64_t key) const;

  // Bucket b has the keys above bounds_[b], up to bounds_[b + 1]; below the first is the greatest integer,
  // which is -1. Data that is looked up for every key is kept small: it shares the first-level cache.
  std::vector<std::uint64_t> bounds_;
  std::vector<std::uint8_t> shifts_;
  unsigned tree_levels_;
  std::vector<std::uint64_t> tree_;  // children of node i are 2 i and 2 i + 1; the root is node 1
  std::uint64_t lowest_ = 0;
  unsigned cell_shift_ = 0;
  std::array<Cell, last_cell + 1> cells_;
};

}  // namespace sortcore
