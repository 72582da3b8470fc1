#include "keys/encoded_lines.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "bytes.hpp"
#include "records/common_bytes.hpp"

namespace sortcore {

EncodedLines::EncodedLines(const KeyOrder& order, const StringPlaces& lines)
    : order_(&order), lines_(lines), work_(std::make_unique<Work>(order)) {}

EncodedLines::EncodedLines(const EncodedLines& other)
    : order_(other.order_),
      lines_(other.lines_),
      bits_(other.bits_),
      work_(order_ == nullptr ? nullptr : std::make_unique<Work>(*order_)) {}

EncodedLines& EncodedLines::operator=(const EncodedLines& other) { return *this = EncodedLines(other); }

std::span<const std::byte> EncodedLines::key(std::uint64_t index, std::size_t place) const {
  GrowingBytes& bytes = work_->keys[place];
  bytes.clear();
  work_->encoder.append(lines_[index], bytes);
  std::memset(bytes.room(sizeof(VaryingBits::Words)), 0, sizeof(VaryingBits::Words));
  return bytes.bytes();
}

std::span<const std::byte> EncodedLines::rest(std::uint64_t index, std::size_t place,
                                              std::uint64_t depth) const {
  const auto whole = key(index, place);
  return whole.subspan(std::min<std::size_t>(depth, whole.size()));
}

VaryingBits::Words EncodedLines::words_of(std::span<const std::byte> key) const noexcept {
  VaryingBits::Words words;
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = load_big_endian(key.data() + 8 * i);
  return words;
}

void EncodedLines::learn(std::span<const std::uint64_t> sample) {
  if (sample.empty()) return;
  std::vector<VaryingBits::Words> words;
  words.reserve(sample.size());
  for (const std::uint64_t index : sample) words.push_back(words_of(key(index, 0)));
  bits_ = VaryingBits(words);
}

KeyWindow EncodedLines::window(std::uint64_t index, bool& is_exception) const {
  const auto whole = key(index, 0);
  is_exception = whole.size() > sizeof(VaryingBits::Words);
  return bits_.of(words_of(whole), is_exception);
}

bool EncodedLines::entries_tell(std::span<const std::uint64_t> sample, unsigned key_bits) const {
  constexpr std::size_t rarely = 64;
  std::vector<std::uint64_t> seen;
  std::size_t exceptions = 0;
  for (const std::uint64_t index : sample) {
    bool is_exception = false;
    seen.push_back(window(index, is_exception).high >> (64 - key_bits));
    exceptions += is_exception;
  }
  if (sample.empty() || !bits_.are_all() || exceptions > sample.size() / rarely) return false;
  if (bits_.drawn() <= key_bits) return true;
  std::ranges::sort(seen);
  return std::ranges::adjacent_find(seen) == seen.end();
}

std::uint64_t EncodedLines::common_from(std::uint64_t a, std::uint64_t b, std::uint64_t depth,
                                        std::uint64_t most) const {
  const auto of_a = rest(a, 0, depth), of_b = rest(b, 1, depth);
  return count_common_bytes(of_a.data(), of_b.data(),
                            std::min<std::uint64_t>(most, std::min(of_a.size(), of_b.size())));
}

int EncodedLines::compare_from(std::uint64_t a, std::uint64_t b, std::uint64_t depth) const {
  return compare_bytes(rest(a, 0, depth), rest(b, 1, depth));
}

std::uint64_t EncodedLines::chunk(std::uint64_t index, std::uint64_t depth) const {
  const auto bytes = rest(index, 0, depth);
  return (load_big_endian(bytes.data()) &
          top_bytes_mask(std::min<std::uint64_t>(bytes.size(), chunk_bytes))) |
         std::min<std::uint64_t>(bytes.size(), 8);
}

}  // namespace sortcore
