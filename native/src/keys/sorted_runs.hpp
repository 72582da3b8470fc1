// Sorted texts in scratch files, and their merge into one output.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "keys/line_stream.hpp"
#include "keys/run_file.hpp"
#include "keys/run_sorter.hpp"
#include "keys/text_memory.hpp"
#include "keys/text_output.hpp"
#include "sortcore/io/file.hpp"

namespace sortcore {

// The line of a run that takes most memory in a merge, in its input; of zero bytes if none is long.
struct SpilledLine {
  std::string path;
  LongLine line;
};

struct MergeSettings {
  std::vector<std::string> directories;  // used in turn
  std::uint64_t memory_bytes = 0;
  std::size_t most_merged = 16;
  bool unique = false;
  std::uint64_t most_lines = UINT64_MAX;
  unsigned threads = 1;
  std::uint64_t first_row = 1;  // of sorted inputs
  bool lines_may_exceed_memory = false;
  std::size_t free_descriptors = 512;
};

// Equal lines keep the order in which inputs were added.
class SortedRuns {
 public:
  // Limits the inputs of a merge to the available descriptors.
  SortedRuns(const KeyOrder& order, const LineLimits& limits, MergeSettings settings);

  // Throws Error(too_little_memory) for a line that cannot be merged with those of earlier runs.
  void add(const RunSorter& sorted, const SpilledLine& longest, const Progress* progress);
  void add(const TextSource& sorted_input) { inputs_.push_back({sorted_input, {}, {}}); }
  // Merges them all. Returns the lines written.
  std::uint64_t merge(TextOutput& output, const Progress* progress);
  // To be called before anything is added.
  void pack(const PackingChoice& choice);
  const RunPacking& packing() const noexcept { return *packing_; }

 private:
  struct Input {
    TextSource source;
    std::vector<File> scratch;     // one, or none
    std::unique_ptr<RunFile> run;  // instead, where runs may be packed
    std::uint64_t long_bytes = 0;  // memory for its longest line in a merge
  };
  void require_mergeable(const SpilledLine& longest);
  std::size_t group_size(std::span<const Input> inputs) const;
  Input new_scratch();
  std::vector<Input> grouped(std::vector<Input> inputs, const Progress* progress);
  Input merged_group(std::span<Input> group, const Progress* progress);
  static TextInput opened(Input& input);
  std::uint64_t merge_some(std::span<Input> inputs, TextOutput& output, const Progress* progress);

  KeyOrder order_;
  LineLimits limits_;
  std::uint64_t longest_bytes_ = 0;  // memory for the longest line so far in a merge
  MergeSettings settings_;
  std::unique_ptr<RunPacking> packing_;
  std::vector<Input> inputs_;
  std::size_t turn_ = 0;
};

}  // namespace sortcore
