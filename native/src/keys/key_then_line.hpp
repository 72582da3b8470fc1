// Encoded keys, each followed by its line, for Ordering: one string in two places.
#pragma once

#include <algorithm>
#include <array>
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

// Places of strings: number i from starts[i] to starts[i + 1], less its terminator.
struct StringPlaces {
  const std::byte* base = nullptr;
  const std::uint64_t* starts = nullptr;
  std::uint64_t end_bytes = 1;

  std::span<const std::byte> operator[](std::uint64_t index) const noexcept {
    const std::uint64_t start = starts[index];
    return {base + start, starts[index + 1] - start - end_bytes};
  }
};

// No key is a prefix of another, so that keys are equal once one of them ends.
class KeyThenLine {
 public:
  KeyThenLine() = default;
  KeyThenLine(const StringPlaces& keys, const StringPlaces& lines) : keys_(keys), lines_(lines) {}

  std::uint64_t longest_key_bytes() const noexcept { return LineFormat::to_the_end; }
  void skip(std::uint64_t /*bytes*/, std::uint64_t /*reference*/) noexcept {}
  void learn(std::span<const std::uint64_t> sample) {
    if (sample.empty()) return;
    std::vector<VaryingBits::Words> words;
    for (const std::uint64_t index : sample) words.push_back(words_of(index));
    bits_ = VaryingBits(words);
  }
  bool window_tells_all() const noexcept { return false; }
  std::uint64_t window_bits() const noexcept { return 128; }
  std::uint64_t tie_depth() const noexcept { return 0; }

  KeyWindow window(std::uint64_t index, bool& is_exception) const noexcept {
    return bits_.of(words_of(index), is_exception);
  }
  void prefetch_behind(std::uint64_t /*index*/) const noexcept {}
  // Prefetches a key's place, and then the key, to break ties.
  void prefetch_place(std::uint64_t index) const noexcept { __builtin_prefetch(keys_.starts + index); }
  void prefetch_key(std::uint64_t index) const noexcept {
    __builtin_prefetch(keys_.base + keys_.starts[index]);
  }

  std::uint64_t common_bytes(std::uint64_t /*a*/, std::uint64_t /*b*/,
                             std::uint64_t /*most*/) const noexcept {
    return 0;
  }
  std::uint64_t common_from(std::uint64_t a, std::uint64_t b, std::uint64_t depth,
                            std::uint64_t most) const noexcept {
    const auto key_a = keys_[a], key_b = keys_[b];
    std::uint64_t common = 0;
    const std::uint64_t least = std::min(key_a.size(), key_b.size());
    if (depth < least) {
      common = count_common_bytes(key_a.data() + depth, key_b.data() + depth, std::min(most, least - depth));
      if (depth + common < least || common == most) return common;
    }
    const auto rest_a = line_from(a, depth + common), rest_b = line_from(b, depth + common);
    return common +
           count_common_bytes(rest_a.data(), rest_b.data(),
                              std::min<std::uint64_t>(most - common, std::min(rest_a.size(), rest_b.size())));
  }
  int compare_from(std::uint64_t a, std::uint64_t b, std::uint64_t depth) const noexcept {
    const auto key_a = keys_[a], key_b = keys_[b];
    if (depth < std::min(key_a.size(), key_b.size())) {
      const int order = compare_bytes(key_a.subspan(depth), key_b.subspan(depth));
      return order != 0 ? order : compare_bytes(lines_[a], lines_[b]);
    }
    return compare_bytes(line_from(a, depth), line_from(b, depth));
  }

  // Seven bytes and their number, as in LineKeys.
  static constexpr std::uint64_t chunk_bytes = 7;
  std::uint64_t chunk(std::uint64_t index, std::uint64_t depth) const noexcept {
    std::array<std::byte, 8> bytes{};
    const std::uint64_t there = copy(index, depth, bytes);
    return (load_big_endian(bytes.data()) & top_bytes_mask(chunk_bytes)) | there;
  }
  static bool chunk_ends_key(std::uint64_t chunk, std::uint64_t /*depth*/) noexcept {
    return (chunk & 0xff) < 8;
  }

 private:
  std::span<const std::byte> line_from(std::uint64_t index, std::uint64_t depth) const noexcept {
    return lines_[index].subspan(depth - keys_[index].size());
  }
  // Returns the number of bytes available.
  std::uint64_t copy(std::uint64_t index, std::uint64_t depth, std::span<std::byte> to) const noexcept {
    const auto key = keys_[index];
    std::size_t copied = 0;
    if (depth < key.size()) {
      copied = std::min<std::size_t>(key.size() - depth, to.size());
      std::memcpy(to.data(), key.data() + depth, copied);
    }
    const auto line = line_from(index, std::max<std::uint64_t>(depth, key.size()));
    const std::size_t rest = std::min(line.size(), to.size() - copied);
    if (rest != 0) std::memcpy(to.data() + copied, line.data(), rest);
    return copied + rest;
  }
  VaryingBits::Words words_of(std::uint64_t index) const noexcept {
    std::array<std::byte, 8 * VaryingBits::words> bytes{};
    copy(index, 0, bytes);
    VaryingBits::Words words;
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = load_big_endian(bytes.data() + 8 * i);
    return words;
  }

  StringPlaces keys_;
  StringPlaces lines_;
  VaryingBits bits_;
};

}  // namespace sortcore
