// The sixteen key bytes that the sort works on, as two integers.
//
// They begin after the bytes that all keys have in common, so that keys with a long common beginning still
// differ within the window. Bytes beyond the end of the key count as zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "bytes.hpp"
#include "records/common_bytes.hpp"
#include "sortcore/records/record_array.hpp"
#include "sortcore/records/record_format.hpp"

namespace sortcore {

struct KeyWindow {
  std::uint64_t high;
  std::uint64_t low;
};

// The top `bytes` bytes of an integer; all of it from eight on.
constexpr std::uint64_t top_bytes_mask(std::uint64_t bytes) {
  return bytes >= 8 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} >> (8 * bytes));
}

// The keys of fixed-size records, by number.
class RecordKeys {
 public:
  RecordKeys() = default;
  // `count` is the number after the last.
  RecordKeys(const RecordArray& records, std::uint64_t count, const RecordFormat& format)
      : records_(records),
        first_key_(records.record(0) + format.key_offset),
        count_(count),
        key_bytes_(format.key_bytes),
        bytes_from_first_key_(
            count == 0 ? 0 : records.offset(count - 1) + records.record_bytes() - format.key_offset) {
    skip(0, 0);
  }

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t longest_key_bytes() const noexcept { return key_bytes_; }

  // Skips bytes at the beginning that nearly all keys share with that of record `reference`. Windows start
  // after them. A key that begins otherwise has the least or the greatest window.
  void skip(std::uint64_t bytes, std::uint64_t reference) noexcept {
    skipped_ = bytes;
    reference_ = reference;
    high_mask_ = top_bytes_mask(key_bytes_ - bytes);
    low_mask_ = key_bytes_ - bytes <= 8 ? 0 : top_bytes_mask(key_bytes_ - bytes - 8);
  }
  void learn(std::span<const std::uint64_t> /*sample*/) noexcept {}  // windows show key bytes as they are
  // True when keys with equal windows, unless they are exceptions, are equal.
  bool window_tells_all() const noexcept { return key_bytes_ - skipped_ <= sizeof(KeyWindow); }
  // Bits of a window in which keys can differ.
  std::uint64_t window_bits() const noexcept {
    return 8 * std::min<std::uint64_t>(key_bytes_ - skipped_, 16);
  }

  // A key that begins unlike nearly all is an exception.
  KeyWindow window(std::uint64_t index, bool& is_exception) const noexcept {
    if (skipped_ != 0) {
      const std::uint64_t common = common_bytes(reference_, index, skipped_);
      if (common < skipped_) [[unlikely]] {
        is_exception = true;
        return is_less_at(index, common) ? KeyWindow{0, 0} : greatest_window;
      }
    }
    const std::uint64_t offset = records_.offset(index) + skipped_;
    if (offset + sizeof(KeyWindow) > bytes_from_first_key_) [[unlikely]] {
      return {chunk(index, skipped_), chunk(index, skipped_ + 8)};
    }
    const std::byte* key = first_key_ + offset;
    return {load_big_endian(key) & high_mask_, load_big_endian(key + 8) & low_mask_};
  }
  // Prefetches memory some way after a record: strides of a record outrun the processor's own prefetching.
  void prefetch_behind(std::uint64_t index) const noexcept {
    constexpr std::uint64_t bytes_ahead = 4096;
    __builtin_prefetch(key(index) + bytes_ahead);
  }

  // Prefetches a key, to break ties.
  void prefetch_place(std::uint64_t /*index*/) const noexcept {}
  void prefetch_key(std::uint64_t index) const noexcept { __builtin_prefetch(key(index)); }

  // Eight key bytes from `depth` on, zeros beyond the end.
  std::uint64_t chunk(std::uint64_t index, std::uint64_t depth) const noexcept {
    if (depth >= key_bytes_) return 0;
    return load_big_endian(key(index) + depth, key_bytes_ - depth);
  }
  // Leading bytes, at most `most`, that two keys have in common.
  std::uint64_t common_bytes(std::uint64_t a, std::uint64_t b, std::uint64_t most) const noexcept {
    return count_common_bytes(key(a), key(b), most);
  }

  // For breaking ties: key bytes that tied records are known to share, and steps of eight bytes from there.
  std::uint64_t tie_depth() const noexcept { return 0; }  // two may begin unlike nearly all
  static constexpr std::uint64_t chunk_bytes = 8;
  bool chunk_ends_key(std::uint64_t /*chunk*/, std::uint64_t depth) const noexcept {
    return depth + chunk_bytes >= key_bytes_;
  }
  std::uint64_t common_from(std::uint64_t a, std::uint64_t b, std::uint64_t depth,
                            std::uint64_t most) const noexcept {
    if (depth >= key_bytes_) return 0;
    return count_common_bytes(key(a) + depth, key(b) + depth, std::min(most, key_bytes_ - depth));
  }
  int compare_from(std::uint64_t a, std::uint64_t b, std::uint64_t depth) const noexcept {
    if (depth >= key_bytes_) return 0;
    return std::memcmp(key(a) + depth, key(b) + depth, key_bytes_ - depth);
  }

 protected:
  const std::byte* key(std::uint64_t index) const noexcept { return first_key_ + records_.offset(index); }

 private:
  static constexpr KeyWindow greatest_window{~std::uint64_t{0}, ~std::uint64_t{0}};
  // Compares with the reference, in the first differing byte.
  bool is_less_at(std::uint64_t index, std::uint64_t at) const noexcept {
    return key(index)[at] < key(reference_)[at];
  }

  RecordArray records_;
  const std::byte* first_key_ = nullptr;
  std::uint64_t count_ = 0;
  std::uint64_t key_bytes_ = 1;
  std::uint64_t bytes_from_first_key_ = 0;  // to the end of the last record
  std::uint64_t skipped_ = 0;
  std::uint64_t reference_ = 0;
  std::uint64_t high_mask_ = 0;
  std::uint64_t low_mask_ = 0;
};

}  // namespace sortcore
