// An index of the beginnings of the lines of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "lines/quoted_lines.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/lines/line_format.hpp"
#include "sortcore/progress.hpp"
#include "sortcore/records/record_sort.hpp"

namespace sortcore {

// Consecutive whole lines, from `first_byte` of a text on; the last may lack its newline.
struct TextRun {
  std::uint64_t first_byte;
  std::uint64_t bytes;
};

// Bytes of scratch that sorting this many lines may need, in addition to input and output: about 21 a line
// and work space of the threads.
std::uint64_t line_scratch_bytes(std::uint64_t lines, unsigned threads);

// Lines are numbered in the order of the runs of text. Line i lies from start(i) to start(i + 1), newline
// included; after the last line of a run comes its end, a number that is no line.
class LineIndex {
 public:
  // Throws Error(bad_input) above `max_records_in_memory` lines, Error(too_little_memory) above `most_lines`,
  // Error(io) when newlines come or go meanwhile. A text that changes later is sorted wrongly, but its lines
  // still lie where they were found. With a `quote` lines end outside quotes only, and each run must begin
  // and end there.
  void build(const std::byte* base, std::span<const TextRun> runs, unsigned threads, std::uint64_t most_lines,
             const Progress* progress, std::byte line_end = newline, std::optional<std::byte> quote = {});

  // The same for records of this size; each run has whole ones.
  void build_records(std::span<const TextRun> runs, std::uint64_t record_bytes, unsigned threads,
                     std::uint64_t most_records);

  const std::uint64_t* starts() const noexcept { return starts_; }
  // The numbers that are lines.
  std::span<const RecordRun> lines() const noexcept { return lines_; }
  // Size of all lines with their newlines, one of them perhaps not in the text.
  std::uint64_t bytes() const noexcept { return bytes_; }
  // The first byte after the text.
  std::uint64_t extent() const noexcept { return extent_; }

 private:
  struct Piece {
    std::size_t run;
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t newlines = 0;
    QuotedCount quoted{};
    bool begins_within = false;  // quotes
    std::uint64_t first = 0;     // their first place in `starts`
  };
  void reserve(std::uint64_t lines, std::uint64_t most_lines);
  void cut(std::span<const TextRun> runs);
  void resolve_quotes();
  std::uint64_t number_lines(std::span<const TextRun> runs);
  void mark_ends(std::span<const TextRun> runs);
  void check_ends(std::span<const TextRun> runs) const;

  std::vector<Piece> pieces_;
  std::vector<bool> adds_newline_;  // run by run
  std::vector<RecordRun> lines_;
  Buffer memory_;
  std::uint64_t* starts_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t extent_ = 0;
};

}  // namespace sortcore
