// Lines in which quotes protect newlines, like rows of CSV: a newline after an odd number of quotes is text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sortcore/lines/line_format.hpp"

namespace sortcore {

// Numbers of line ends in a text that begins outside quotes, and in one that begins within.
struct QuotedCount {
  std::uint64_t outside = 0;
  std::uint64_t within = 0;
  bool flips = false;  // whether an odd number of quotes leads from one to the other
};
QuotedCount count_quoted_lines(std::span<const std::byte> text, std::byte quote) noexcept;

// As list_line_starts, for a text that begins outside quotes or within.
bool list_quoted_starts(std::span<const std::byte> text, std::uint64_t offset,
                        std::span<std::uint64_t> starts, std::byte quote, bool is_within) noexcept;

// The bytes of the whole lines at the text's beginning, which ends within quotes or not by `ends_within`.
std::size_t whole_quoted_lines(std::span<const std::byte> text, std::byte quote, bool ends_within) noexcept;

// The first line end from `at` on, null if there is none; `is_within` is kept for a text that goes on.
const std::byte* find_quoted_end(const std::byte* at, const std::byte* end, std::byte quote,
                                 bool& is_within) noexcept;

bool flips_quotes(std::span<const std::byte> text, std::byte quote) noexcept;

}  // namespace sortcore
