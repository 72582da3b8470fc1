#include "records/bucket_classifier.hpp"

#include <bit>

namespace sortcore {
namespace {

// The greatest key of each bucket, after one below all: the values before every n-th value of the sorted
// sample. A value that comes twice would fill a bucket: it is the greatest key of the next bucket, which
// holds nothing else.
std::vector<std::uint64_t> choose(const std::vector<std::uint64_t>& sample, std::size_t buckets) {
  std::vector<std::uint64_t> bounds{UINT64_MAX};
  std::uint64_t below = 0;  // the value that begins the bucket being made
  for (std::size_t i = 1; i < buckets && !sample.empty(); ++i) {
    const std::uint64_t value = sample[i * sample.size() / buckets];
    if (value > below) {
      bounds.push_back(value - 1);
      below = value;
    } else if (value == below && value != UINT64_MAX) {
      bounds.push_back(value);
      below = value + 1;
    }
  }
  bounds.push_back(UINT64_MAX);
  return bounds;
}

}  // namespace

BucketClassifier::BucketClassifier(std::vector<std::uint64_t> sample, unsigned bucket_bits) {
  std::ranges::sort(sample);
  bounds_ = choose(sample, std::size_t{1} << bucket_bits);
  for (std::size_t i = 0; i + 1 < bounds_.size(); ++i) {
    const std::uint64_t span = bounds_[i + 1] - (bounds_[i] + 1);
    shifts_.push_back(static_cast<std::uint8_t>(std::min(63, std::countl_zero(span))));
  }
  tree_levels_ = static_cast<unsigned>(std::bit_width(buckets() - 1));
  tree_.resize(std::size_t{1} << tree_levels_);
  std::size_t next = 0;
  fill_tree(1, next);
  lowest_ = sample.empty() ? 0 : sample.front();
  fill_cells(sample.empty() ? 0 : sample.back());
}

void BucketClassifier::fill_tree(std::size_t node, std::size_t& next) {
  if (node >= tree_.size()) return;
  fill_tree(2 * node, next);
  tree_[node] = next < buckets() ? bounds_[next + 1] : UINT64_MAX;
  ++next;
  fill_tree(2 * node + 1, next);
}

void BucketClassifier::fill_cells(std::uint64_t greatest) {
  const auto range_bits = static_cast<unsigned>(std::bit_width(greatest - lowest_));
  cell_shift_ = range_bits > cell_bits ? range_bits - cell_bits : 0;
  for (std::uint64_t cell = 0; cell < last_cell; ++cell) {
    const std::uint64_t lowest = lowest_ + (cell << cell_shift_);
    const std::uint64_t highest = lowest + ((std::uint64_t{1} << cell_shift_) - 1);
    const std::uint32_t first = bucket_of(lowest);
    const bool crowded = highest < lowest || bucket_of(highest) > first + 2;
    cells_[cell] = static_cast<Cell>(first | (crowded ? crowded_mark : 0));
  }
  cells_[last_cell] = crowded_mark;
}

std::uint32_t BucketClassifier::bucket_of(std::uint64_t key) const {
  return static_cast<std::uint32_t>(std::lower_bound(bounds_.begin() + 1, bounds_.end(), key) -
                                    (bounds_.begin() + 1));
}

}  // namespace sortcore
