// A few keys drawn at random, to learn what the rest are like.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "random_sequence.hpp"
#include "sortcore/records/record_sort.hpp"

namespace sortcore {

// Indices of sampled records; enough for 2^bucket_bits buckets of nearly equal size.
template <typename Keys>
class KeySample {
 public:
  KeySample(const Keys& keys, std::span<const RecordRun> runs, std::uint64_t records, unsigned bucket_bits)
      : keys_(keys) {
    constexpr std::uint64_t per_bucket = 8;
    if (bucket_bits == 0 || records == 0) return;
    RandomSequence random(records);
    std::vector<std::uint64_t> positions(per_bucket << bucket_bits);
    for (std::uint64_t& position : positions) position = random.below(records);
    std::ranges::sort(positions);
    std::uint64_t before = 0;  // records in the runs passed
    auto run = runs.begin();
    for (const std::uint64_t position : positions) {
      for (; position >= before + run->records; ++run) before += run->records;
      indices_.push_back(run->first_record + position - before);
    }
  }

  std::span<const std::uint64_t> indices() const noexcept { return indices_; }
  // Any of the records.
  std::uint64_t reference() const noexcept { return indices_.empty() ? 0 : indices_.front(); }

  // Bytes that the sampled keys have in common at their beginning, if a window does not hold the key anyway.
  std::uint64_t common_bytes() const {
    if (keys_.longest_key_bytes() <= 8 || indices_.empty()) return 0;
    std::uint64_t common = keys_.longest_key_bytes();
    for (const std::uint64_t index : indices_) {
      common = std::min(common, keys_.common_bytes(indices_.front(), index, common));
    }
    return common;
  }

  std::vector<std::uint64_t> highs(const Keys& keys) const {
    std::vector<std::uint64_t> result;
    result.reserve(indices_.size());
    for (const std::uint64_t index : indices_) result.push_back(keys.window(index).high);
    return result;
  }

 private:
  const Keys& keys_;
  std::vector<std::uint64_t> indices_;
};

}  // namespace sortcore
