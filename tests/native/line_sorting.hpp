// Text sorted by its lines, or a byte range of each, with the sorter of runs.
#pragma once

#include "keys/run_sorter.hpp"
#include "random_lines.hpp"

namespace lines {

// By whole lines, or by a byte range of each; equal keys keep their order.
inline sortcore::KeyOrder order_of(const LineFormat& format) {
  sortcore::KeyOrder order;
  if (format == LineFormat{}) return order;
  sortcore::KeyPart part;
  part.first_field = sortcore::KeyPart::unlimited;
  part.first_byte = format.key_offset;
  if (format.key_bytes != LineFormat::to_the_end) {
    part.last_field = 0;
    part.last_field_bytes = format.key_offset + format.key_bytes;
  }
  order.parts.push_back(part);
  order.whole_line_last = false;
  return order;
}

inline Text sorted_by_core(const Text& text, const LineFormat& format, unsigned threads) {
  sortcore::RunSorter sorter(order_of(format), false, threads);
  sorter.sort(text, UINT64_MAX, nullptr);
  Text out(sorter.bytes());
  sorter.gather(0, out);
  return out;
}

}  // namespace lines
