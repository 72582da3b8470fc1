// Merging sorted inputs, line by line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "keys/line_stream.hpp"
#include "keys/text_output.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

// A line with its key, as in LineStream.
struct KeyedLine {
  std::span<const std::byte> key;
  std::span<const std::byte> line;
};

// < 0, 0, > 0 as `a` comes before, is equal to, comes after `b`.
int compare_lines(const KeyedLine& a, const KeyedLine& b, const KeyOrder& order) noexcept;

// The lines of sorted streams in order; equal ones in the order of the streams, or with `unique` the first.
class LineMerge {
 public:
  struct Limits {
    std::uint64_t lines = UINT64_MAX;
    std::uint64_t bytes = UINT64_MAX;  // the last line may go beyond
  };

  // `order` must outlive this. Streams with a path are checked: write() throws Error(bad_input) for a line
  // whose keys come before those of the previous line.
  LineMerge(std::vector<LineStream> streams, const KeyOrder& order, bool unique,
            std::vector<std::string> paths = {});
  // Continues; each stream then is at its first line that was neither written nor left out. Returns the lines
  // written.
  std::uint64_t write(TextOutput& output, const Limits& limits, const Progress* progress);
  const std::vector<LineStream>& streams() const noexcept { return streams_; }

 private:
  bool comes_before(std::size_t a, std::size_t b) const noexcept;
  void sink(std::size_t at) noexcept;
  void advance();
  void require_order(std::size_t stream) const;

  std::vector<LineStream> streams_;
  const KeyOrder& order_;
  bool unique_;
  std::vector<std::string> paths_;  // of checked streams; empty for others
  std::vector<std::byte> before_;   // the key of the previous next line, if its stream is checked
  bool is_descending_;
  // The streams that have a line, the next of them in front: a heap, mostly changed by replacing its front.
  std::vector<std::size_t> open_;
  std::optional<std::vector<std::byte>> last_key_;
};

}  // namespace sortcore
