// Lines by keys that are encoded on each use, for Ordering: nothing is stored besides the text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "keys/key_then_line.hpp"
#include "records/key_window.hpp"
#include "records/varying_bits.hpp"
#include "sortcore/keys/growing_bytes.hpp"
#include "sortcore/keys/key_order.hpp"
#include "sortcore/keys/line_encoder.hpp"
#include "sortcore/lines/line_format.hpp"

namespace sortcore {

// For one thread; a copy has its own work space. If entries distinguish nearly all keys, each key is encoded
// once, and neither written to memory nor read again. Throws Error(bad_record) for an invalid row. A text
// that changes meanwhile is sorted wrongly.
class EncodedLines {
 public:
  EncodedLines() = default;
  EncodedLines(const KeyOrder& order, const StringPlaces& lines);
  EncodedLines(const EncodedLines& other);
  EncodedLines& operator=(const EncodedLines& other);
  EncodedLines(EncodedLines&&) noexcept = default;
  EncodedLines& operator=(EncodedLines&&) noexcept = default;
  ~EncodedLines() = default;

  // After `learn`, whether entries with this many bits distinguish all unequal keys, as far as sampled lines
  // show.
  bool entries_tell(std::span<const std::uint64_t> sample, unsigned key_bits) const;

  std::uint64_t longest_key_bytes() const noexcept { return LineFormat::to_the_end; }
  void skip(std::uint64_t /*bytes*/, std::uint64_t /*reference*/) noexcept {}
  void learn(std::span<const std::uint64_t> sample);
  bool window_tells_all() const noexcept { return bits_.are_all(); }
  std::uint64_t window_bits() const noexcept { return bits_.drawn(); }
  std::uint64_t tie_depth() const noexcept { return 0; }
  std::uint64_t common_bytes(std::uint64_t /*a*/, std::uint64_t /*b*/,
                             std::uint64_t /*most*/) const noexcept {
    return 0;
  }
  void prefetch_behind(std::uint64_t /*index*/) const noexcept {}
  // Ties are rare.
  void prefetch_place(std::uint64_t /*index*/) const noexcept {}
  void prefetch_key(std::uint64_t /*index*/) const noexcept {}
  KeyWindow window(std::uint64_t index, bool& is_exception) const;

  std::uint64_t common_from(std::uint64_t a, std::uint64_t b, std::uint64_t depth, std::uint64_t most) const;
  int compare_from(std::uint64_t a, std::uint64_t b, std::uint64_t depth) const;
  // Seven bytes and their number, as in LineKeys.
  static constexpr std::uint64_t chunk_bytes = 7;
  std::uint64_t chunk(std::uint64_t index, std::uint64_t depth) const;
  static bool chunk_ends_key(std::uint64_t chunk, std::uint64_t /*depth*/) noexcept {
    return (chunk & 0xff) < 8;
  }

 private:
  // Two keys can be compared side by side.
  struct Work {
    explicit Work(const KeyOrder& order) : encoder(order) {}
    LineEncoder encoder;
    std::array<GrowingBytes, 2> keys;
  };
  // Followed by as many zeros as a window has bytes.
  std::span<const std::byte> key(std::uint64_t index, std::size_t place) const;
  // From `depth` on: a changed text has other keys than before.
  std::span<const std::byte> rest(std::uint64_t index, std::size_t place, std::uint64_t depth) const;
  VaryingBits::Words words_of(std::span<const std::byte> key) const noexcept;

  const KeyOrder* order_ = nullptr;
  StringPlaces lines_;
  VaryingBits bits_;
  std::unique_ptr<Work> work_;
};

}  // namespace sortcore
