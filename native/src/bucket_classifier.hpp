// Which bucket a key belongs to, by splitters drawn from a sample: buckets are about equal whatever the
// distribution.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "entry.hpp"
#include "key_window.hpp"

namespace sortcore {

class BucketClassifier {
 public:
  static constexpr std::size_t batch = 16;
  using Highs = std::array<std::uint64_t, batch>;
  using Buckets = std::array<std::uint32_t, batch>;

  // `sample`: high halves of key windows, in any order (it is sorted). A value that would fill a bucket gets
  // one of its own.
  BucketClassifier(std::vector<std::uint64_t> sample, unsigned bucket_bits);

  std::size_t buckets() const noexcept { return keys_.size(); }
  const BucketKeys& keys_of(std::size_t bucket) const noexcept { return keys_[bucket]; }
  const BucketKeys* keys() const noexcept { return keys_.data(); }

  // Descends the implicit search tree for all keys at once, without a branch, so that the loads of different
  // keys overlap.
  void classify(const Highs& highs, Buckets& buckets) const noexcept {
    const std::uint64_t* tree = tree_.data();
    Buckets node;
    node.fill(1);
    for (unsigned level = 0; level < bucket_bits_; ++level) {
      for (std::size_t i = 0; i < batch; ++i) {
        node[i] = 2 * node[i] + static_cast<std::uint32_t>(tree[node[i]] <= highs[i]);
      }
    }
    for (std::size_t i = 0; i < batch; ++i) buckets[i] = node[i] - (1U << bucket_bits_);
  }

 private:
  void fill_tree(std::span<const std::uint64_t> splitters, std::size_t node, std::size_t& next);

  unsigned bucket_bits_;
  std::vector<std::uint64_t> tree_;  // children of node i are 2 i and 2 i + 1; the root is node 1
  std::vector<BucketKeys> keys_;
};

}  // namespace sortcore
