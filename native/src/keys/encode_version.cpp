#include <algorithm>

#include "bytes.hpp"
#include "keys/ascii_classes.hpp"
#include "keys/encodings.hpp"

namespace sortcore {
namespace {

using Text = std::span<const std::byte>;

// Ranks of non-digits: "~", the end, a number, letters by their codes, then all others.
constexpr std::byte tilde{1}, end_of_text{2}, number{3}, other{0xff};

std::byte* encode_digits(Text digits, std::byte* to) noexcept {
  const auto zeros = std::ranges::find_if(digits, [](std::byte digit) { return digit != std::byte{'0'}; });
  digits = digits.subspan(static_cast<std::size_t>(zeros - digits.begin()));
  constexpr std::size_t many = 0xff;
  *to++ = static_cast<std::byte>(std::min(digits.size(), many));
  if (digits.size() >= many) {
    store_big_endian(to, digits.size());
    to += sizeof(std::uint64_t);
  }
  return std::ranges::copy(digits, to).out;
}

std::byte* encode_other(std::byte byte, std::byte* to) noexcept {
  if (byte == std::byte{'~'}) {
    *to++ = tilde;
  } else {
    if (!is_letter(byte)) *to++ = other;
    *to++ = byte;
  }
  return to;
}

// Text and numbers in turn. Text at the end is followed by the number 0, which equals the end.
std::byte* encode_runs(Text text, std::byte* to) noexcept {
  std::size_t at = 0;
  bool after_number = false;
  while (at < text.size() || !after_number) {
    for (; at < text.size() && !is_digit(text[at]); ++at) {
      to = encode_other(text[at], to);
      after_number = false;
    }
    if (after_number && at == text.size()) break;
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    *to++ = number;
    to = encode_digits(text.subspan(first, at - first), to);
    after_number = true;
  }
  *to++ = end_of_text;
  return to;
}

bool continues_suffix(std::byte byte) noexcept {
  return is_letter(byte) || is_digit(byte) || byte == std::byte{'~'};
}

// Without the match of (\.[A-Za-z~][A-Za-z0-9~]*)*$.
Text without_suffix(Text name) noexcept {
  std::size_t prefix = 0;
  for (std::size_t i = 0; i < name.size();) {
    prefix = ++i;
    while (i + 1 < name.size() && name[i] == std::byte{'.'} &&
           (is_letter(name[i + 1]) || name[i + 1] == std::byte{'~'})) {
      for (i += 2; i < name.size() && continues_suffix(name[i]);) ++i;
    }
  }
  return name.first(prefix);
}

// Order of names: empty, ".", "..", other hidden files, all others.
std::uint8_t rank_of(Text name) noexcept {
  constexpr std::byte dot{'.'};
  if (name.empty()) return 0;
  if (name[0] != dot) return 4;
  if (name.size() == 1) return 1;
  return name.size() == 2 && name[1] == dot ? 2 : 3;
}

}  // namespace

std::byte* encode_version(std::span<const std::byte> key, std::byte* to) {
  const std::uint8_t rank = rank_of(key);
  *to++ = static_cast<std::byte>(rank);
  if (rank < 3) return to;
  return encode_runs(key, encode_runs(without_suffix(key), to));
}

}  // namespace sortcore
