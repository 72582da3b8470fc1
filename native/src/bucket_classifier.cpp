#include "bucket_classifier.hpp"

#include <algorithm>

namespace sortcore {
namespace {

// Every so-manieth value of the sorted sample. One that comes twice would fill a bucket: it is followed by
// its successor, so that the bucket between holds nothing else. What is left over repeats the greatest key,
// which makes empty buckets.
std::vector<std::uint64_t> choose(const std::vector<std::uint64_t>& sample, std::size_t count) {
  std::vector<std::uint64_t> splitters;
  for (std::size_t i = 1; i <= count && !sample.empty(); ++i) {
    const std::uint64_t value = sample[i * sample.size() / (count + 1)];
    const std::uint64_t next = value + 1;
    if (splitters.empty() || value > splitters.back()) {
      splitters.push_back(value);
    } else if (value == splitters.back() && next != 0) {
      splitters.push_back(next);
    }
  }
  splitters.resize(count, UINT64_MAX);
  return splitters;
}

}  // namespace

BucketClassifier::BucketClassifier(std::vector<std::uint64_t> sample, unsigned bucket_bits)
    : bucket_bits_(bucket_bits), tree_(std::size_t{1} << bucket_bits), keys_(std::size_t{1} << bucket_bits) {
  std::ranges::sort(sample);
  const std::vector<std::uint64_t> splitters = choose(sample, buckets() - 1);
  std::size_t next = 0;
  fill_tree(splitters, 1, next);
  for (std::size_t i = 0; i < buckets(); ++i) {
    const std::uint64_t lowest = i == 0 ? 0 : splitters[i - 1];
    const std::uint64_t above = i == splitters.size() ? 0 : splitters[i];
    keys_[i] = BucketKeys::between(lowest, std::max(lowest, above - 1));
  }
}

void BucketClassifier::fill_tree(std::span<const std::uint64_t> splitters, std::size_t node,
                                 std::size_t& next) {
  if (node >= tree_.size()) return;
  fill_tree(splitters, 2 * node, next);
  tree_[node] = splitters[next++];
  fill_tree(splitters, 2 * node + 1, next);
}

}  // namespace sortcore
