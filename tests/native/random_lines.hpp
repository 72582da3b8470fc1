// Random text of many kinds, and its lines as the standard library sorts them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "random_sequence.hpp"
#include "sortcore/lines/line_format.hpp"

namespace lines {

using sortcore::LineFormat;
using sortcore::newline;
using sortcore::RandomSequence;
using Text = std::vector<std::byte>;

enum class Kind { mixed, few, equal, empty, common_beginning, exceptions, nul, ascending };
inline constexpr Kind all_kinds[] = {
    Kind::mixed,      Kind::few, Kind::equal,    Kind::empty, Kind::common_beginning,
    Kind::exceptions, Kind::nul, Kind::ascending};

inline LineFormat random_format(RandomSequence& random) {
  if (random.below(2) == 0) return {};
  return {random.below(20), random.below(3) == 0 ? LineFormat::to_the_end : 1 + random.below(20)};
}

inline void append(Text& text, std::string_view words) {
  const auto bytes = std::as_bytes(std::span(words));
  text.insert(text.end(), bytes.begin(), bytes.end());
}

inline void append_random(Text& text, std::uint64_t count, RandomSequence& random) {
  for (; count > 0; --count) {
    const auto byte = static_cast<std::byte>(random.next());
    text.push_back(byte == newline ? std::byte{0xff} : byte);
  }
}

inline void append_line(Text& text, Kind kind, std::uint64_t number, RandomSequence& random) {
  constexpr std::string_view beginning = "2026-11-21T14:00:00 host service: ";
  switch (kind) {
    case Kind::mixed:
      return append_random(text, random.below(random.below(8) == 0 ? 300 : 40), random);
    case Kind::few:
      text.push_back(static_cast<std::byte>('a' + random.below(3)));
      return append(text, "-and-the-same-rest");
    case Kind::equal:
      return append(text, "every line is like this one\r");
    case Kind::empty:
      return;
    case Kind::common_beginning:
      append(text, beginning);
      return append_random(text, random.below(30), random);
    case Kind::exceptions:
      if (random.below(50) != 0) append(text, beginning);
      return append_random(text, random.below(3), random);
    case Kind::nul:
      return text.resize(text.size() + random.below(40));
    case Kind::ascending:
      for (int shift = 56; shift >= 0; shift -= 4)
        text.push_back(static_cast<std::byte>('a' + (number >> shift & 15)));
  }
}

// The last line lacks its newline half of the time.
inline Text random_text(std::uint64_t count, Kind kind, RandomSequence& random) {
  Text text;
  for (std::uint64_t number = 0; number < count; ++number) {
    append_line(text, kind, number, random);
    text.push_back(newline);
  }
  if (!text.empty() && random.below(2) == 0) text.pop_back();
  return text;
}

inline std::vector<std::span<const std::byte>> split(std::span<const std::byte> text) {
  std::vector<std::span<const std::byte>> found;
  while (!text.empty()) {
    const auto length = static_cast<std::size_t>(std::ranges::find(text, newline) - text.begin());
    found.push_back(text.first(length));
    text = text.subspan(std::min(length + 1, text.size()));
  }
  return found;
}

// Equal keys in input order.
inline Text expected_sorted(const Text& text, const LineFormat& format) {
  auto all = split(text);
  std::ranges::stable_sort(all, [&](auto a, auto b) {
    const auto key_a = format.key_of(a), key_b = format.key_of(b);
    return std::lexicographical_compare(key_a.begin(), key_a.end(), key_b.begin(), key_b.end());
  });
  Text sorted;
  for (const auto line : all) {
    sorted.insert(sorted.end(), line.begin(), line.end());
    sorted.push_back(newline);
  }
  return sorted;
}

}  // namespace lines
