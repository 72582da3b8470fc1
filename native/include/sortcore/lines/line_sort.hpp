// Sorting text in memory by its lines.
//
// The sort is always stable. As with KeySorter, `sort` reads the text and distributes its lines. `gather`
// finishes the buckets it needs and copies lines out in order, so that the first can be written while the
// rest are still unsorted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sortcore/lines/line_format.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

// Consecutive whole lines, from `first_byte` of a text on; the last may lack its newline.
struct TextRun {
  std::uint64_t first_byte;
  std::uint64_t bytes;
};

// Bytes of scratch that a LineSorter may need for this many lines, in addition to input and output: about 21
// a line and work space of the threads.
std::uint64_t line_scratch_bytes(std::uint64_t lines, unsigned threads);

// Counts with `threads` threads (0: all available), including a last line without a newline.
std::uint64_t count_lines(std::span<const std::byte> text, unsigned threads = 0);

class LineSorter {
 public:
  // `threads` 0 means all available. Throws Error(bad_input) for an impossible key.
  explicit LineSorter(const LineFormat& format, unsigned threads = 0);
  ~LineSorter();
  LineSorter(LineSorter&&) noexcept;
  LineSorter& operator=(LineSorter&&) noexcept;

  // Step one, on this sorter's threads: `text` must stay unchanged until the last `gather`. Throws
  // Error(bad_input) above `max_records_in_memory` lines.
  void sort(std::span<const std::byte> text, Progress* progress = nullptr);
  // The same for lines in several runs of one text at `base`. Equal keys come in the order of the runs.
  // Throws Error(too_little_memory) for more than `most_lines`, before allocating memory for them.
  void sort(const std::byte* base, std::span<const TextRun> runs, Progress* progress = nullptr,
            std::uint64_t most_lines = UINT64_MAX);

  std::uint64_t lines() const noexcept;
  // Size of the sorted text: one newline more than the input for a run that lacks its last.
  std::uint64_t bytes() const noexcept;

  // Step two: fills `out` with the sorted text from byte `first_byte` on. It works on the calling thread;
  // several threads may gather at once. `out` must not overlap the input. Throws Error(bad_input) beyond the
  // end.
  void gather(std::uint64_t first_byte, std::span<std::byte> out) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Sorts `text` into `out`, which has its size, and one byte more if the last newline is missing; throws
// Error(bad_input) otherwise. Progress counts gathered bytes. Returns the number of lines.
std::uint64_t sort_lines(std::span<const std::byte> text, std::span<std::byte> out, const LineFormat& format,
                         unsigned threads = 0, Progress* progress = nullptr);

}  // namespace sortcore
