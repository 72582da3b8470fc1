// Windows of the bits that vary: they have the order of the keys, whatever the sample showed.
#include "records/varying_bits.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "bytes.hpp"
#include "check.hpp"
#include "random_sequence.hpp"

namespace {
using namespace sortcore;
using Words = VaryingBits::Words;

Words words_of(const std::string& text) {
  char padded[sizeof(Words)] = {};
  std::memcpy(padded, text.data(), std::min(text.size(), sizeof padded));
  Words words;
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = load_big_endian(reinterpret_cast<const std::byte*>(padded) + 8 * i);
  return words;
}

struct Seen {
  KeyWindow window{};
  bool is_exception = false;
};
Seen seen(const VaryingBits& bits, const Words& key) {
  Seen result;
  result.window = bits.of(key, result.is_exception);
  return result;
}
KeyWindow window_of(const VaryingBits& bits, const Words& key) { return seen(bits, key).window; }

bool equal(const KeyWindow& a, const KeyWindow& b) { return a.high == b.high && a.low == b.low; }
bool at_most(const KeyWindow& a, const KeyWindow& b) {
  return a.high < b.high || (a.high == b.high && a.low <= b.low);
}

std::string timestamp(RandomSequence& random) {
  char text[48];
  std::snprintf(text, sizeof text, "2026-%02u-%02uT%02u:%02u:%02u.%06uZ", unsigned(1 + random.below(12)),
                unsigned(1 + random.below(28)), unsigned(random.below(24)), unsigned(random.below(60)),
                unsigned(random.below(60)), unsigned(random.below(1'000'000)));
  return text;
}

// Texts that are mostly equal; some differ in a byte or are cut off there.
std::string mostly_a_timestamp(RandomSequence& random, std::uint64_t one_in) {
  std::string text = timestamp(random);
  if (random.below(one_in) != 0) return text;
  const std::size_t at = random.below(text.size());
  if (random.below(2) == 0) return text.substr(0, at);
  text[at] = static_cast<char>(random.next());
  return text;
}
}  // namespace

TEST(windows_of_varying_bits_keep_the_order) {
  RandomSequence random(71);
  for (std::uint64_t round = 0; round < 60; ++round) {
    const std::uint64_t in_sample = 1 + random.below(200);
    std::vector<Words> sample(random.below(400)), keys;
    for (Words& each : sample) each = words_of(mostly_a_timestamp(random, in_sample));
    for (int i = 0; i < 300; ++i) keys.push_back(words_of(mostly_a_timestamp(random, 3)));
    keys.insert(keys.end(), sample.begin(), sample.end());
    std::ranges::sort(keys);
    const VaryingBits bits = sample.empty() ? VaryingBits() : VaryingBits(sample);
    const VaryingBits portable = bits.portable();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (i > 0) CHECK(at_most(window_of(bits, keys[i - 1]), window_of(bits, keys[i])));
      CHECK(equal(window_of(bits, keys[i]), window_of(portable, keys[i])));
    }
  }
}

TEST(windows_of_varying_bits_tell_timestamps_apart) {
  RandomSequence random(72);
  std::vector<Words> sample(2'000);
  for (Words& each : sample) each = words_of(timestamp(random));
  const VaryingBits bits(sample);
  std::ranges::sort(sample);
  for (std::size_t i = 1; i < sample.size(); ++i)
    CHECK_EQUAL(equal(window_of(bits, sample[i - 1]), window_of(bits, sample[i])),
                sample[i - 1] == sample[i]);
}

// Days and numbers of two digits: few bits vary, so all of them are drawn.
TEST(keys_that_are_no_exceptions_differ_in_the_bits_drawn) {
  RandomSequence random(73);
  std::vector<Words> sample(2'000), keys;
  for (Words& each : sample) each = words_of(timestamp(random).substr(5, 8));
  const VaryingBits bits(sample);
  CHECK(bits.are_all() && bits.drawn() < 40);
  for (int i = 0; i < 20'000; ++i) keys.push_back(words_of(mostly_a_timestamp(random, 3).substr(0, 13)));
  for (int i = 0; i < 20'000; ++i) keys.push_back(words_of(timestamp(random).substr(5, 8)));
  std::ranges::sort(keys);
  std::uint64_t told = 0;
  for (std::size_t i = 1; i < keys.size(); ++i) {
    const Seen a = seen(bits, keys[i - 1]), b = seen(bits, keys[i]);
    if (a.is_exception || b.is_exception) continue;
    CHECK_EQUAL(equal(a.window, b.window), keys[i - 1] == keys[i]);
    ++told;
  }
  CHECK(told > 10'000);
}

TEST(without_a_sample_a_window_is_the_first_sixteen_bytes) {
  const Words key = words_of("0123456789abcdefghijkl");
  const KeyWindow window = window_of(VaryingBits(), key);
  CHECK(window.high == key[0] && window.low == key[1]);
}
