// Ordering the few records whose entries do not distinguish their keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sortcore {

// One step of a comparison that advances by some key bytes at a time.
struct KeyChunk {
  std::uint64_t chunk;
  std::uint32_t index;

  friend auto operator<=>(const KeyChunk&, const KeyChunk&) = default;
};

// Sorts indices, which come ascending, by key, then by index. A few are compared directly; of many the common
// bytes are skipped, and the next ones fetched once, so that comparing does not touch the records. Not
// recursive: keys may be megabytes long.
template <typename Keys>
class TieBreaker {
 public:
  explicit TieBreaker(const Keys& keys) : keys_(keys) {}

  void sort(std::span<std::uint32_t> indices) {
    open_.push_back({indices, keys_.tie_depth()});
    while (!open_.empty()) {
      const Tied tied = open_.back();
      open_.pop_back();
      if (tied.indices.size() <= few) {
        insert_in_order(tied);
      } else {
        split(tied);
      }
    }
  }

 private:
  static constexpr std::size_t few = 8;
  struct Tied {
    std::span<std::uint32_t> indices;
    std::uint64_t depth;  // key bytes known to be equal
  };

  void insert_in_order(const Tied& tied) const {
    const std::span<std::uint32_t> indices = tied.indices;
    for (std::size_t i = 1; i < indices.size(); ++i) {
      const std::uint32_t index = indices[i];
      std::size_t to = i;
      for (; to > 0 && keys_.compare_from(indices[to - 1], index, tied.depth) > 0; --to)
        indices[to] = indices[to - 1];
      indices[to] = index;
    }
  }

  std::uint64_t common_depth(const Tied& tied) const {
    std::uint64_t common = UINT64_MAX;
    for (const std::uint32_t index : tied.indices.subspan(1)) {
      if (common == 0) break;
      common = keys_.common_from(tied.indices.front(), index, tied.depth, common);
    }
    return tied.depth + common;
  }

  void split(const Tied& tied) {
    const std::uint64_t depth = common_depth(tied);
    chunks_.resize(tied.indices.size());
    for (std::size_t i = 0; i < chunks_.size(); ++i)
      chunks_[i] = {keys_.chunk(tied.indices[i], depth), tied.indices[i]};
    std::ranges::sort(chunks_);
    for (std::size_t i = 0; i < chunks_.size(); ++i) tied.indices[i] = chunks_[i].index;
    for (std::size_t begin = 0, end = 0; begin < chunks_.size(); begin = end) {
      const std::uint64_t chunk = chunks_[begin].chunk;
      while (end < chunks_.size() && chunks_[end].chunk == chunk) ++end;
      if (end - begin == 1 || keys_.chunk_ends_key(chunk, depth)) continue;
      open_.push_back({tied.indices.subspan(begin, end - begin), depth + Keys::chunk_bytes});
    }
  }

  const Keys keys_;  // a copy, as keys may have work space for one thread
  std::vector<Tied> open_;
  std::vector<KeyChunk> chunks_;
};

}  // namespace sortcore
