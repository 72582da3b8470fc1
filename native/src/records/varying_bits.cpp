#include "records/varying_bits.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sortcore {
namespace {

constexpr unsigned word_bits = 64;
constexpr unsigned window_bits = 128;
constexpr std::size_t rarely = 64;  // one key in this many may be an exception to a bit

constexpr std::uint64_t bit_at(unsigned from_top) { return std::uint64_t{1} << (word_bits - 1 - from_top); }

// Counts of the keys that have each bit of a word set.
std::array<std::size_t, word_bits> count_set(std::span<const VaryingBits::Words> sample, std::size_t word) {
  std::array<std::size_t, word_bits> counts{};
  for (const VaryingBits::Words& key : sample) {
    for (unsigned bit = 0; bit < word_bits; ++bit) counts[bit] += (key[word] & bit_at(bit)) != 0;
  }
  return counts;
}

}  // namespace

VaryingBits::VaryingBits() : draw_(fastest_draw()) {
  for (Word& word : std::span(words_).first(2)) {
    word.drawn = ~std::uint64_t{0};
    word.find_runs();
  }
}

VaryingBits::VaryingBits(std::span<const Words> sample) : draw_(fastest_draw()) {
  unsigned room = window_bits;
  for (std::size_t i = 0; i < words && room > 0; ++i) {
    Word& word = words_[i];
    const auto counts = count_set(sample, i);
    for (unsigned bit = 0; bit < word_bits && room > 0; ++bit) {
      const std::size_t set = counts[bit], unset = sample.size() - set;
      const bool varies = std::min(set, unset) > sample.size() / rarely;
      (varies ? word.drawn : word.left_out) |= bit_at(bit);
      if (!varies && set > unset) word.usual |= bit_at(bit);
      room -= varies;
    }
    word.find_runs();
  }
  drawn_ = window_bits - room;
  are_all_ = room > 0;
}

void VaryingBits::Word::find_runs() {
  bits = static_cast<unsigned>(std::popcount(drawn));
  run_count = 0;
  for (std::uint64_t rest = drawn; rest != 0;) {
    const auto top = static_cast<unsigned>(std::countl_zero(rest));
    const auto length = static_cast<unsigned>(std::countl_one(rest << top));
    runs[run_count++] = {static_cast<std::uint8_t>(word_bits - top - length),
                         static_cast<std::uint8_t>(length)};
    rest &= ~(~std::uint64_t{0} >> (word_bits - length) << (word_bits - top - length));
  }
}

VaryingBits::Words VaryingBits::draw_portably(const AllWords& words, const Words& key) noexcept {
  Words drawn{};
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    for (const Run& run : std::span(words[i].runs).first(words[i].run_count)) {
      drawn[i] = drawn[i] << (run.bits % word_bits) |
                 (key[i] >> run.shift & ~std::uint64_t{0} >> (word_bits - run.bits));
    }
  }
  return drawn;
}

#if defined(__x86_64__)
__attribute__((target("bmi2"))) VaryingBits::Words VaryingBits::draw_with_bmi2(const AllWords& words,
                                                                               const Words& key) noexcept {
  Words drawn;
  for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = _pext_u64(key[i], words[i].drawn);
  return drawn;
}
#endif

VaryingBits VaryingBits::portable() const noexcept {
  VaryingBits copy = *this;
  copy.draw_ = draw_portably;
  return copy;
}

VaryingBits::Draw* VaryingBits::fastest_draw() noexcept {
#if defined(__x86_64__)
  static const bool has_bmi2 = __builtin_cpu_supports("bmi2");
  if (has_bmi2) return draw_with_bmi2;
#endif
  return draw_portably;
}

// `at`: the first bit, from the top, in which the key is unlike nearly all.
KeyWindow VaryingBits::exception(U128 window, unsigned room, const Word& word, std::uint64_t varying,
                                 unsigned at, std::uint64_t key) noexcept {
  const auto before =
      static_cast<unsigned>(at == 0 ? 0 : std::popcount(word.drawn & ~(~std::uint64_t{0} >> at)));
  if (before != 0) window = window << before | varying >> (word.bits - before);
  room -= before;
  const bool is_greater = (key & bit_at(at)) != 0;
  for (; room > 0; --room) window = window << 1 | (is_greater ? 1U : 0U);
  return halves(window);
}

}  // namespace sortcore
