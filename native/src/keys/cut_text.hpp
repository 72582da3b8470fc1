// A text cut into pieces of whole lines, which threads take one by one.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "lines/line_index.hpp"
#include "sortcore/keys/key_order.hpp"

namespace sortcore {

inline constexpr std::size_t cut_bytes = std::size_t{1} << 20;

// Pieces of about `cut_bytes`, larger where a line is longer. Throws Error(bad_record) for a quoted CSV field
// without an end.
std::vector<TextRun> cut_text(std::span<const std::byte> text, const KeyOrder& order, unsigned threads);

// The bytes of the whole lines at the beginning of the text.
std::size_t whole_lines_end(std::span<const std::byte> text, const KeyOrder& order);

}  // namespace sortcore
