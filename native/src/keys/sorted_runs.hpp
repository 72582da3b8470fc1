// Sorted texts in scratch files, and their way to one output.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "keys/line_stream.hpp"
#include "keys/run_file.hpp"
#include "keys/run_sorter.hpp"
#include "keys/text_output.hpp"
#include "sortcore/io/file.hpp"

namespace sortcore {

struct MergeSettings {
  std::vector<std::string> directories;  // take turns
  std::uint64_t memory_bytes = 0;
  std::size_t most_merged = 16;
  bool unique = false;
  std::uint64_t most_lines = UINT64_MAX;
  unsigned threads = 1;
  std::uint64_t first_row = 1;  // of sorted inputs
  std::size_t free_descriptors = 512;
};

// Equal lines keep the order of the inputs that were added.
class SortedRuns {
 public:
  // Merges no more at once than there are descriptors for.
  SortedRuns(const KeyOrder& order, MergeSettings settings);

  void add(const RunSorter& sorted, const Progress* progress);
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
  };
  Input new_scratch();
  std::vector<Input> grouped(std::vector<Input> inputs, const Progress* progress);
  Input merged_group(std::vector<Input>& inputs, std::size_t first, const Progress* progress);
  static TextInput opened(Input& input);
  std::uint64_t merge_some(std::span<Input> inputs, TextOutput& output, const Progress* progress);

  KeyOrder order_;
  MergeSettings settings_;
  std::unique_ptr<RunPacking> packing_;
  std::vector<Input> inputs_;
  std::size_t turn_ = 0;
};

}  // namespace sortcore
