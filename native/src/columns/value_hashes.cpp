#include "sortcore/columns/value_hashes.hpp"

#include <array>
#include <cstring>

#include "columns/expect.hpp"
#include "columns/unaligned.hpp"
#include "sortcore/error.hpp"

namespace sortcore {
namespace {

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

constexpr std::uint64_t mix(std::uint64_t word) noexcept {
  word = (word ^ (word >> 33)) * 0xff51'afd7'ed55'8ccd;
  word = (word ^ (word >> 33)) * 0xc4ce'b9fe'1a85'ec53;
  return word ^ (word >> 33);
}

// An odd number for each place, without a pattern.
constexpr std::uint64_t odd_of(std::uint64_t place) noexcept {
  return mix(place + 0x9e37'79b9'7f4a'7c15) | 1;
}

constexpr auto first_odds = [] {
  std::array<std::uint64_t, 64> odds{};
  for (std::size_t place = 0; place < odds.size(); ++place) odds[place] = odd_of(place);
  return odds;
}();

class WordSum {
 public:
  void add(std::uint64_t word) noexcept {
    sum_ += (word ^ (word >> 31)) * (place_ < first_odds.size() ? first_odds[place_] : odd_of(place_));
    ++place_;
  }
  std::uint64_t mixed() const noexcept { return mix(sum_); }

 private:
  std::uint64_t sum_ = 0, place_ = 0;
};

// The first `bytes` of a word, which may be the last of what can be read.
std::uint64_t load_part(const std::byte* from, std::size_t bytes, std::size_t readable) noexcept {
  if (readable >= word_bytes) return load<std::uint64_t>(from) & ((std::uint64_t{1} << 8 * bytes) - 1);
  std::uint64_t word = 0;
  std::memcpy(&word, from, bytes);
  return word;
}

std::uint64_t hash_bytes(const std::byte* from, std::size_t bytes, std::size_t readable) noexcept {
  WordSum sum;
  for (; bytes >= word_bytes; from += word_bytes, bytes -= word_bytes, readable -= word_bytes)
    sum.add(load<std::uint64_t>(from));
  if (bytes > 0) sum.add(load_part(from, bytes, readable));
  return sum.mixed();
}

// The same for as many bytes as are known to the compiler.
template <typename Value>
std::uint64_t hash_value(Value value) noexcept {
  WordSum sum;
  sum.add(value);
  return sum.mixed();
}

std::uint64_t hash_value(TwoWords value) noexcept {
  WordSum sum;
  for (const std::uint64_t word : value.words) sum.add(word);
  return sum.mixed();
}

template <typename Offset>
void hash_texts_at(const std::byte* offsets, ColumnChunk texts, std::span<std::uint64_t> out) {
  auto begin = static_cast<std::uint64_t>(load<Offset>(offsets));
  for (std::size_t row = 0; row < out.size(); ++row) {
    const auto end = static_cast<std::uint64_t>(load<Offset>(offsets + (row + 1) * sizeof(Offset)));
    if (end < begin || end > texts.size())
      throw Error(ErrorCode::bad_record, "a text ends before it begins or beyond its buffer");
    const std::uint64_t length = end - begin;
    out[row] = mix(odd_of(length) + hash_bytes(texts.data() + begin, length, texts.size() - begin));
    begin = end;
  }
}

}  // namespace

void hash_values(ColumnChunk values, std::size_t width, std::span<std::uint64_t> out) {
  expect(values.size() == width * out.size(), "the values have another size");
  const bool is_word = with_word_of(width, [&](auto word) {
    using Word = decltype(word);
    for (std::size_t row = 0; row < out.size(); ++row)
      out[row] = hash_value(load<Word>(values.data() + row * sizeof(Word)));
  });
  if (is_word) return;
  for (std::size_t row = 0; row < out.size(); ++row)
    out[row] = hash_bytes(values.data() + row * width, width, values.size() - row * width);
}

void hash_texts(ColumnChunk offsets, std::size_t offset_bytes, ColumnChunk texts,
                std::span<std::uint64_t> out) {
  expect(offset_bytes == 4 || offset_bytes == 8, "offsets have 4 or 8 bytes");
  if (out.empty()) return;  // whose offsets may be missing
  expect(offsets.size() / offset_bytes == out.size() + 1, "there is another number of offsets");
  if (offset_bytes == 4)
    hash_texts_at<std::uint32_t>(offsets.data(), texts, out);
  else
    hash_texts_at<std::uint64_t>(offsets.data(), texts, out);
}

std::uint64_t add_hashes(std::span<const std::uint64_t> hashes, std::uint64_t place,
                         std::span<std::uint64_t> rows) {
  expect(hashes.size() == rows.size(), "there is another number of hashes");
  const std::uint64_t odd = odd_of(place);
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    sum += mix(hashes[row]);
    rows[row] += mix(hashes[row] ^ odd);
  }
  return sum;
}

}  // namespace sortcore
