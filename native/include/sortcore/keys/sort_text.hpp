// Sorting, merging and checking text by keys, as GNU sort does: from files and pipes to a file or a pipe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sortcore/external/packing.hpp"
#include "sortcore/io/output_file.hpp"
#include "sortcore/keys/key_order.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

struct TextSource {
  std::string path;              // "-": standard input
  std::uint64_t first_byte = 0;  // to be sorted; of what is no regular file those before it were taken off
  std::uint64_t end_byte = UINT64_MAX;  // behind the last; the file's end is an error before it

  bool is_part() const noexcept { return end_byte != UINT64_MAX; }
};

struct TextSortRequest {
  std::vector<TextSource> inputs;
  std::string output;           // empty: standard output; may be an input
  bool replaces = true;         // a file of that name, also one that appears meanwhile
  std::string prologue;         // comes before all lines of the output
  std::uint64_t first_row = 1;  // the number of the first row of CSV, for messages
  KeyOrder order;
  OutputFile::Durability durability = OutputFile::Durability::of_the_system;  // as GNU sort has it
  bool unique = false;                    // of lines with equal keys the first is kept
  bool inputs_are_sorted = false;         // and are merged
  std::uint64_t most_lines = UINT64_MAX;  // written: the first in order
  std::uint64_t memory_bytes = 0;         // 0: four fifths of what is available
  bool lines_may_exceed_memory = false;   // or are refused where they, and what sorting them takes, do
  std::vector<std::string> temporary_directories;
  unsigned threads = 0;            // 0: all available
  unsigned most_merged = 0;        // runs at once; 0: as many as memory has room for
  Spill spill = Spill::automatic;  // how runs are written
};

struct TextSortReport {
  std::uint64_t lines = 0;  // written
  std::uint64_t runs = 0;   // sorted apart because memory was short; 0: all at once
  // What went to scratch files as it was in memory; of this what was packed, what that became, and why.
  std::uint64_t spilled_bytes = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t packed_to_bytes = 0;
  std::string spill_reason;
};

// Records of fixed size are sorted by their parts alone, of which there must be one at least: equal ones keep
// their order.
//
// A file that is an output appears whole or not at all; what is no regular file is written as it is. A last
// line without an end gets one.
//
// Throws Error: io ("open failed: PATH: REASON" and the like), bad_record (a row of CSV that is not as it
// must be, by its number; half a record), too_little_memory
// (naming the line that is too long by file and offset), cancelled. `progress` counts what is read, then
// what is written.
TextSortReport sort_text(const TextSortRequest& request, Progress* progress = nullptr);

struct PiecewiseMergeRequest {
  std::vector<TextSource> inputs;
  std::string output;     // is there, and goes on
  std::uint64_t end = 0;  // behind so many bytes
  KeyOrder order;
  bool unique = false;
  std::uint64_t memory_bytes = 0;
};
struct MergedPiece {
  std::uint64_t lines = 0;                 // written
  std::uint64_t end = 0;                   // of the output
  std::vector<std::uint64_t> first_bytes;  // of what is left of each input
};

// A merge of sorted files of which one piece after another is written; another merge can go on behind any.
class PiecewiseMerge {
 public:
  // Throws Error: io, bad_record.
  explicit PiecewiseMerge(const PiecewiseMergeRequest& request);
  ~PiecewiseMerge();
  // Writes about so many bytes, which need not be on the disk then. Throws Error: io, bad_record, cancelled.
  MergedPiece write(std::uint64_t most_bytes, Progress* progress = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The lines of `text`, each with its end, sorted on this thread in as much memory as it takes.
std::string sorted_text(std::span<const std::byte> text, const KeyOrder& order, bool unique);

struct Disorder {
  std::uint64_t line;  // counted from 1
  std::string text;    // without its end
};
// The first line that comes before, or with `unique` is equal to, the one before it; rows of CSV are counted
// from `first_row`. Throws Error: io, bad_record.
std::optional<Disorder> find_disorder(const TextSource& input, const KeyOrder& order, bool unique,
                                      std::uint64_t first_row = 1);

}  // namespace sortcore
