// Records that are entirely keys, for Ordering, by the bits in which they differ.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bytes.hpp"
#include "records/key_window.hpp"
#include "records/varying_bits.hpp"

namespace sortcore {

// As RecordKeys, but windows are drawn from the first bytes. Keys made of texts and numbers have few bits
// that vary, far apart: unchanged, entries would hold little but the beginning of a text.
class VaryingRecordKeys : public RecordKeys {
 public:
  VaryingRecordKeys() = default;
  VaryingRecordKeys(const std::byte* first, std::uint32_t record_bytes, std::uint64_t count)
      : RecordKeys(RecordArray(first, record_bytes), count, {record_bytes, 0, record_bytes}),
        // Whole words are read of all records but the last few.
        readable_(count - std::min<std::uint64_t>(count, sizeof(VaryingBits::Words) / record_bytes + 1)),
        is_seen_whole_(record_bytes <= sizeof(VaryingBits::Words)) {
    for (std::size_t i = 0; i < masks_.size(); ++i)
      masks_[i] = 8 * i < record_bytes ? top_bytes_mask(record_bytes - 8 * i) : 0;
    learn_from_all();
  }

  void skip(std::uint64_t /*bytes*/, std::uint64_t /*reference*/) noexcept {}  // constant bits are left out
  void learn(std::span<const std::uint64_t> /*sample*/) noexcept {}
  bool window_tells_all() const noexcept { return is_seen_whole_ && bits_.are_all(); }
  std::uint64_t window_bits() const noexcept { return bits_.drawn(); }
  KeyWindow window(std::uint64_t index, bool& is_exception) const noexcept {
    return bits_.of(words_of(index), is_exception);
  }

 private:
  // From records at equal distances: few sorts have enough buckets for theirs to be a sufficient sample.
  void learn_from_all() {
    constexpr std::uint64_t most = 512;
    if (count() == 0) return;
    const std::uint64_t step = (count() + most - 1) / most;
    std::vector<VaryingBits::Words> words;
    for (std::uint64_t index = 0; index < count(); index += step) words.push_back(words_of(index));
    bits_ = VaryingBits(words);
  }
  VaryingBits::Words words_of(std::uint64_t index) const noexcept {
    VaryingBits::Words words;
    const std::byte* const bytes = key(index);
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = may_read_beyond && index < readable_ ? load_big_endian(bytes + 8 * i) & masks_[i]
                                                      : chunk(index, 8 * i);
    return words;
  }

  std::uint64_t readable_ = 0;
  bool is_seen_whole_ = false;
  VaryingBits::Words masks_{};
  VaryingBits bits_;
};

}  // namespace sortcore
