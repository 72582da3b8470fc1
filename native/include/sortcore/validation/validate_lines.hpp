// Summaries of lines, as of records: whether they are in order, how many repeat a key, and an
// order-independent checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sortcore/lines/line_format.hpp"
#include "sortcore/progress.hpp"
#include "sortcore/u128.hpp"
#include "sortcore/validation/validate.hpp"

namespace sortcore {

// Summary of consecutive lines. A last line without a newline counts as if it had one, so that a sort, which
// adds it, changes nothing.
struct LineSummary {
  LineFormat format;
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;                        // newlines included
  std::uint64_t unordered = 0;                    // lines smaller than their predecessor
  std::uint64_t first_unordered = Summary::none;  // the first such, counted from 0
  std::uint64_t duplicates = 0;                   // lines with their predecessor's key
  U128 checksum = 0;                              // sum of the lines' CRC-32; does not depend on their order
  std::vector<std::byte> first_line;              // without newline, as is the last
  std::vector<std::byte> last_line;

  // Joins the summary of the lines that follow, which has the same format.
  void append(const LineSummary& next);

  friend bool operator==(const LineSummary&, const LineSummary&) = default;
};

LineSummary validate_lines(std::span<const std::byte> text, const LineFormat& format, unsigned threads = 1,
                           Progress* progress = nullptr);

// The lines of a file, which is mapped. Adds to progress the bytes read; begins no phase, so that several
// files can share one. Throws Error(io) naming path and offset, also when the file shrinks meanwhile.
LineSummary validate_lines_file(const std::string& path, const LineFormat& format, unsigned threads = 0,
                                Progress* progress = nullptr);

}  // namespace sortcore
