// Extraction of the bits in which keys differ.
//
// Text spends most of its bits on constants: half a byte of each digit, all of the "T" in a timestamp.
// Without them sixteen bytes distinguish most keys, and few ties are left to be broken.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "records/key_window.hpp"
#include "sortcore/u128.hpp"

namespace sortcore {

class VaryingBits {
 public:
  // The beginning of a key, big-endian, with zeros beyond its end.
  static constexpr std::size_t words = 4;
  using Words = std::array<std::uint64_t, words>;

  // Draws the first sixteen bytes unchanged.
  VaryingBits();
  // Draws the first 128 bits that are not the same in nearly all keys of the sample.
  explicit VaryingBits(std::span<const Words> sample);
  // The same, with instructions that every CPU has.
  VaryingBits portable() const noexcept;

  // The number of drawn bits, and whether no other can differ in keys that are no exceptions.
  unsigned drawn() const noexcept { return drawn_; }
  bool are_all() const noexcept { return are_all_; }

  // Keys keep their order or get equal windows, also those that differ from nearly all others in a bit that
  // is left out. From there on their windows have only zeros or ones: they are exceptions.
  KeyWindow of(const Words& key, bool& is_exception) const noexcept {
    U128 window = 0;
    unsigned room = 128;
    const Words drawn = draw_(words_, key);
    for (std::size_t i = 0; i < words; ++i) {
      const Word& word = words_[i];
      if (const std::uint64_t odd = (key[i] ^ word.usual) & word.left_out; odd != 0) [[unlikely]] {
        is_exception = true;
        return exception(window, room, word, drawn[i], static_cast<unsigned>(std::countl_zero(odd)), key[i]);
      }
      window = window << word.bits | drawn[i];
      room -= word.bits;
    }
    return halves(room == 128 ? window : window << room);
  }

 private:
  struct Run {
    std::uint8_t shift;
    std::uint8_t bits;
  };
  struct Word {
    std::uint64_t usual = 0;     // the bits that nearly all keys have
    std::uint64_t left_out = 0;  // their positions
    std::uint64_t drawn = 0;     // the others, up to the last with room
    unsigned bits = 0;           // drawn
    unsigned run_count = 0;
    std::array<Run, 32> runs{};  // of bits drawn, from the top

    void find_runs();
  };

  using AllWords = std::array<Word, words>;
  using Draw = Words(const AllWords& words, const Words& key) noexcept;
  // The fastest for this CPU.
  static Words draw_portably(const AllWords& words, const Words& key) noexcept;
  static Draw* fastest_draw() noexcept;
  static Words draw_with_bmi2(const AllWords& words, const Words& key) noexcept;

  static KeyWindow halves(U128 window) noexcept {
    return {static_cast<std::uint64_t>(window >> 64), static_cast<std::uint64_t>(window)};
  }
  static KeyWindow exception(U128 window, unsigned room, const Word& word, std::uint64_t varying, unsigned at,
                             std::uint64_t key) noexcept;

  AllWords words_;
  unsigned drawn_ = 128;
  bool are_all_ = false;
  Draw* draw_;
};

}  // namespace sortcore
