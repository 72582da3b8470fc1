// Taking lines off a text, in the form of their order: they may be rows of CSV, or records.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "lines/newlines.hpp"
#include "lines/quoted_lines.hpp"
#include "sortcore/keys/key_order.hpp"

namespace sortcore {

// The next line without its end, which CSV requires: an incomplete row or record does not count.
inline std::optional<std::span<const std::byte>> take_ended_line(std::span<const std::byte>& text,
                                                                 const KeyOrder& order) {
  if (order.record_bytes != 0) {
    if (text.size() < order.record_bytes) return std::nullopt;
    const auto record = text.first(order.record_bytes);
    text = text.subspan(order.record_bytes);
    return record;
  }
  if (!order.csv) return take_line(text, order.line_end);
  bool is_within = false;
  const std::byte* const end =
      find_quoted_end(text.data(), text.data() + text.size(), order.csv->quote, is_within);
  if (end == nullptr) return std::nullopt;
  const auto line = text.first(static_cast<std::size_t>(end - text.data()));
  text = text.subspan(line.size() + 1);
  return line;
}

}  // namespace sortcore
