// The keys of lines, for Ordering.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "bytes.hpp"
#include "records/common_bytes.hpp"
#include "records/key_window.hpp"
#include "records/varying_bits.hpp"
#include "sortcore/lines/line_format.hpp"

namespace sortcore {

// Unlike records' keys those of lines differ in length, and few files have a beginning that all lines share
// without exception. So a key without the common beginning has the least or the greatest window. Ties are
// broken from the first byte on, which resolves what that hides.
class LineKeys {
 public:
  LineKeys() = default;
  // Line i lies from starts[i] to starts[i + 1]; bytes from `extent` on must not be read.
  LineKeys(const std::byte* base, const std::uint64_t* starts, std::uint64_t extent, const LineFormat& format)
      : base_(base), starts_(starts), extent_(extent), format_(format) {}
  // Encoded keys, none of which is a prefix of another. So those that are equal up to zeros are equal.
  static LineKeys encoded(const std::byte* base, const std::uint64_t* starts, std::uint64_t extent) {
    LineKeys keys(base, starts, extent, {});
    keys.may_tell_all_ = true;
    return keys;
  }

  std::uint64_t longest_key_bytes() const noexcept { return format_.key_bytes; }
  void skip(std::uint64_t bytes, std::uint64_t reference) noexcept {
    skipped_ = bytes;
    common_ = bytes == 0 ? nullptr : key(reference).data();
  }
  // Limits windows to the bits in which keys like these differ.
  void learn(std::span<const std::uint64_t> sample) {
    if (sample.empty()) return;
    std::vector<VaryingBits::Words> words;
    for (const std::uint64_t index : sample) {
      const std::span<const std::byte> whole = key(index);
      words.push_back(words_of(whole.subspan(std::min<std::size_t>(skipped_, whole.size()))));
    }
    bits_ = VaryingBits(words);
  }
  bool window_tells_all() const noexcept { return may_tell_all_ && bits_.are_all(); }
  std::uint64_t window_bits() const noexcept { return bits_.drawn(); }
  std::uint64_t tie_depth() const noexcept { return 0; }

  // An exception begins unlike nearly all, or differs in other bits, or goes on after the window.
  KeyWindow window(std::uint64_t index, bool& is_exception) const noexcept {
    const std::span<const std::byte> whole = key(index);
    is_exception = may_tell_all_ && whole.size() > skipped_ + sizeof(VaryingBits::Words);
    if (skipped_ != 0) {
      const std::size_t compared = std::min<std::size_t>(skipped_, whole.size());
      const int order = std::memcmp(whole.data(), common_, compared);
      if (order != 0 || whole.size() < skipped_) {
        is_exception = true;
        return order > 0 ? KeyWindow{~std::uint64_t{0}, ~std::uint64_t{0}} : KeyWindow{0, 0};
      }
    }
    return bits_.of(words_of(whole.subspan(skipped_)), is_exception);
  }
  // Lines are read one after another, which the processor predicts.
  void prefetch_behind(std::uint64_t /*index*/) const noexcept {}
  // Prefetches a key's place, and then the key, to break ties.
  void prefetch_place(std::uint64_t index) const noexcept { __builtin_prefetch(starts_ + index); }
  void prefetch_key(std::uint64_t index) const noexcept { __builtin_prefetch(base_ + starts_[index]); }

  std::uint64_t common_bytes(std::uint64_t a, std::uint64_t b, std::uint64_t most) const noexcept {
    return common_from(a, b, 0, most);
  }
  std::uint64_t common_from(std::uint64_t a, std::uint64_t b, std::uint64_t depth,
                            std::uint64_t most = UINT64_MAX) const noexcept {
    const auto of_a = key(a), of_b = key(b);
    const std::uint64_t least = std::min(of_a.size(), of_b.size());
    if (least <= depth) return 0;
    return count_common_bytes(of_a.data() + depth, of_b.data() + depth, std::min(most, least - depth));
  }
  int compare_from(std::uint64_t a, std::uint64_t b, std::uint64_t depth) const noexcept {
    return compare_bytes(key(a).subspan(depth), key(b).subspan(depth));
  }

  // Seven key bytes and their number, 8 if there are more: equal chunks are equal keys or equal beginnings,
  // never a NUL taken for an end.
  static constexpr std::uint64_t chunk_bytes = 7;
  std::uint64_t chunk(std::uint64_t index, std::uint64_t depth) const noexcept {
    const std::span<const std::byte> rest = key(index).subspan(depth);
    return (padded(rest, 0) & top_bytes_mask(chunk_bytes)) | std::min<std::uint64_t>(rest.size(), 8);
  }
  static bool chunk_ends_key(std::uint64_t chunk, std::uint64_t /*depth*/) noexcept {
    return (chunk & 0xff) < 8;
  }

 private:
  std::span<const std::byte> key(std::uint64_t index) const noexcept {
    const std::uint64_t start = starts_[index];
    return format_.key_of({base_ + start, starts_[index + 1] - start - 1});
  }
  VaryingBits::Words words_of(std::span<const std::byte> rest) const noexcept {
    VaryingBits::Words words{};
    const bool readable = may_read_beyond && rest.data() + sizeof words <= base_ + extent_;
    for (std::size_t i = 0; i < words.size() && 8 * i < rest.size(); ++i) {
      words[i] = readable ? load_big_endian(rest.data() + 8 * i) & top_bytes_mask(rest.size() - 8 * i)
                          : padded(rest, 8 * i);
    }
    return words;
  }
  static std::uint64_t padded(std::span<const std::byte> key, std::size_t from) noexcept {
    return key.size() <= from ? 0 : load_big_endian(key.data() + from, key.size() - from);
  }

  const std::byte* base_ = nullptr;
  const std::uint64_t* starts_ = nullptr;
  std::uint64_t extent_ = 0;
  LineFormat format_;
  bool may_tell_all_ = false;
  std::uint64_t skipped_ = 0;
  const std::byte* common_ = nullptr;
  VaryingBits bits_;
};

}  // namespace sortcore
