// A few keys drawn at random, to learn the properties of the rest.
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
  // A common beginning of nearly all sampled keys: this many bytes of the key of a record. It leaves eight
  // bytes of a key, so that equal keys do not look like those that begin otherwise. None where a window holds
  // the key anyway.
  struct Common {
    std::uint64_t bytes = 0;
    std::uint64_t record = 0;
  };
  Common common() const {
    const std::uint64_t longest = keys_.longest_key_bytes();
    if (longest <= window_half || indices_.empty()) return {};
    Common best{0, indices_.front()};
    // Any one of them may itself begin otherwise, but hardly all.
    for (const std::size_t place : {std::size_t{0}, indices_.size() / 2, indices_.size() - 1}) {
      const std::uint64_t bytes = common_with(indices_[place], longest - window_half);
      if (bytes > best.bytes) best = {bytes, indices_[place]};
    }
    return best;
  }

  std::vector<std::uint64_t> highs(const Keys& keys) const {
    std::vector<std::uint64_t> result;
    result.reserve(indices_.size());
    bool is_exception = false;  // which does not matter
    for (const std::uint64_t index : indices_) result.push_back(keys.window(index, is_exception).high);
    return result;
  }

 private:
  static constexpr std::uint64_t window_half = 8;  // bytes
  static constexpr std::size_t rarely = 256;       // one key in this many may begin otherwise

  // Bytes, at most `most`, that nearly all sampled keys have in common with this one.
  std::uint64_t common_with(std::uint64_t record, std::uint64_t most) const {
    std::vector<std::uint64_t> common;
    common.reserve(indices_.size());
    for (const std::uint64_t index : indices_) common.push_back(keys_.common_bytes(record, index, most));
    const auto nearly_least = common.begin() + static_cast<std::ptrdiff_t>(common.size() / rarely);
    std::ranges::nth_element(common, nearly_least);
    return *nearly_least;
  }

  const Keys& keys_;
  std::vector<std::uint64_t> indices_;
};

}  // namespace sortcore
