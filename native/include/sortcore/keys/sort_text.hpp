// Sorting, merging and checking text by keys, as GNU sort does: from files and pipes to a file or a pipe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sortcore/external/packing.hpp"
#include "sortcore/io/file_version.hpp"
#include "sortcore/io/output_file.hpp"
#include "sortcore/keys/key_order.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

struct TextSource {
  std::string path;                     // "-": standard input
  std::uint64_t first_byte = 0;         // to be sorted; already skipped unless the file is regular
  std::uint64_t end_byte = UINT64_MAX;  // after the last byte; if the file ends earlier, that is an error

  bool is_part() const noexcept { return end_byte != UINT64_MAX; }
};

struct TextSortRequest {
  std::vector<TextSource> inputs;
  std::vector<FileVersion> versions;  // of files that must not have changed when the output gets its name
  std::string output;                 // empty: standard output; may be an input
  bool replaces = true;               // a file of that name, also one that appears meanwhile
  std::string prologue;               // written before all lines of the output
  std::uint64_t first_row = 1;        // the number of the first row of CSV, for messages
  KeyOrder order;
  OutputFile::Durability durability = OutputFile::Durability::of_the_system;  // like GNU sort
  bool unique = false;                    // of lines with equal keys the first is kept
  bool inputs_are_sorted = false;         // inputs are merged instead of sorted
  std::uint64_t most_lines = UINT64_MAX;  // written: the first in order
  std::uint64_t memory_bytes = 0;         // 0: four fifths of the available memory
  bool lines_may_exceed_memory = false;   // else lines that exceed it, with their work space, are refused
  std::vector<std::string> temporary_directories;
  unsigned threads = 0;            // 0: all available
  unsigned most_merged = 0;        // runs at once; 0: as many as memory has room for
  Spill spill = Spill::automatic;  // form of runs on disk
};

struct TextSortReport {
  std::uint64_t lines = 0;  // written
  std::uint64_t runs = 0;   // sorted separately because memory was short; 0: all at once
  // Bytes that went to scratch files, as in memory; of these the packed ones, their packed size, and the
  // reason.
  std::uint64_t spilled_bytes = 0;
  std::uint64_t packed_bytes = 0;
  std::uint64_t packed_to_bytes = 0;
  std::string spill_reason;
};

// Records of fixed size are sorted by their parts alone, at least one: equal ones keep their order.
//
// An output file appears whole or not at all; anything but a regular file is written directly. A last line
// without an end gets one.
//
// Throws Error: io ("open failed: PATH: REASON" and the like), bad_record (a row of CSV that violates its
// format, by its number; half a record), too_little_memory (naming the line that is too long by file and
// offset), input_changed, cancelled. `progress` counts bytes read, then bytes written.
TextSortReport sort_text(const TextSortRequest& request, Progress* progress = nullptr);

struct PiecewiseMergeRequest {
  std::vector<TextSource> inputs;
  std::string output;     // exists, and is continued
  std::uint64_t end = 0;  // after this byte
  KeyOrder order;
  bool unique = false;
  std::uint64_t memory_bytes = 0;
};
struct MergedPiece {
  std::uint64_t lines = 0;                 // written
  std::uint64_t end = 0;                   // of the output
  std::vector<std::uint64_t> first_bytes;  // of the remaining part of each input
};

// A merge of sorted files that writes one piece after another; another merge can continue after any.
class PiecewiseMerge {
 public:
  // Throws Error: io, bad_record.
  explicit PiecewiseMerge(const PiecewiseMergeRequest& request);
  ~PiecewiseMerge();
  // Writes about `most_bytes`, which need not be on the disk then. Throws Error: io, bad_record, cancelled.
  MergedPiece write(std::uint64_t most_bytes, Progress* progress = nullptr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The lines of `text`, each with its end, sorted on this thread without a memory limit.
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
