#include "keys/sorted_runs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "keys/merge_lines.hpp"
#include "sortcore/io/scratch_files.hpp"

namespace sortcore {
namespace {

// In addition to the merged runs: the output, and a second descriptor of the one being opened.
constexpr std::size_t other_descriptors = 2;
constexpr std::size_t fewest_merged = 2;

}  // namespace

SortedRuns::SortedRuns(const KeyOrder& order, const LineLimits& limits, MergeSettings settings)
    : order_(order),
      limits_(limits),
      settings_(std::move(settings)),
      packing_(std::make_unique<RunPacking>(PackingChoice{}, settings_.threads)) {
  settings_.free_descriptors = std::max(settings_.free_descriptors, fewest_merged + other_descriptors);
  settings_.most_merged = std::min(settings_.most_merged, settings_.free_descriptors - other_descriptors);
}

SortedRuns::Input SortedRuns::new_scratch() {
  const std::string& directory = settings_.directories[turn_++ % settings_.directories.size()];
  Input input{{directory}, {}, {}};
  File file = create_unlinked(directory, File::Caching::buffered);
  if (packing_->choice().packing == Packing::never) {
    input.scratch.push_back(std::move(file));
  } else {
    input.run = std::make_unique<RunFile>(std::move(file), *packing_);
  }
  return input;
}

void SortedRuns::pack(const PackingChoice& choice) {
  packing_ = std::make_unique<RunPacking>(choice, settings_.threads);
}

// At least two must be merged at once, and these may be any two.
void SortedRuns::require_mergeable(const SpilledLine& longest) {
  const std::uint64_t bytes = limits_.merge_bytes(longest.line), both = bytes + longest_bytes_;
  longest_bytes_ = std::max(longest_bytes_, bytes);
  if (both > limits_.most_merge_bytes())
    limits_.refuse(longest.path, longest.line, limits_.needed_to_merge(both));
}

void SortedRuns::add(const RunSorter& sorted, const SpilledLine& longest, const Progress* progress) {
  if (longest.line.bytes != 0 && !settings_.lines_may_exceed_memory) require_mergeable(longest);
  Input input = new_scratch();
  input.long_bytes = limits_.merge_bytes(longest.line);
  const auto gather = [&](std::uint64_t from, std::span<std::byte> out) { sorted.gather(from, out); };
  if (input.run) {
    input.run->fill(sorted.bytes(), settings_.threads, gather, progress);
  } else {
    TextOutput(input.scratch.front(), input.source.path)
        .write(sorted.bytes(), settings_.threads, gather, progress);
    packing_->spilled_bytes += sorted.bytes();
  }
  inputs_.push_back(std::move(input));
  if (inputs_.size() + other_descriptors >= settings_.free_descriptors)
    inputs_ = grouped(std::move(inputs_), progress);
}

std::uint64_t SortedRuns::merge(TextOutput& output, const Progress* progress) {
  while (group_size(inputs_) < inputs_.size()) inputs_ = grouped(std::move(inputs_), progress);
  return merge_some(inputs_, output, progress);
}

// Number of the first inputs merged at once: as many as memory has room for with their longest lines, at
// least two.
std::size_t SortedRuns::group_size(std::span<const Input> inputs) const {
  const std::size_t most = std::min(settings_.most_merged, inputs.size());
  std::uint64_t bytes = 0;
  std::size_t size = 0;
  for (; size < most; ++size) {
    bytes += inputs[size].long_bytes;
    if (size >= fewest_merged && bytes > limits_.most_merge_bytes()) break;
  }
  return size;
}

// Merges neighbours, so that equal lines keep their order. If results would take too many descriptors they
// are merged into one before there are more.
std::vector<SortedRuns::Input> SortedRuns::grouped(std::vector<Input> inputs, const Progress* progress) {
  std::vector<Input> merged;
  for (std::size_t first = 0, size = 0; first < inputs.size(); first += size) {
    size = group_size(std::span(inputs).subspan(first));
    if (merged.size() + settings_.most_merged + other_descriptors > settings_.free_descriptors) {
      while (merged.size() > 1) merged = grouped(std::move(merged), progress);
    }
    merged.push_back(merged_group(std::span(inputs).subspan(first, size), progress));
  }
  return merged;
}

SortedRuns::Input SortedRuns::merged_group(std::span<Input> group, const Progress* progress) {
  Input input = new_scratch();
  for (const Input& part : group) input.long_bytes = std::max(input.long_bytes, part.long_bytes);
  if (input.run) {
    TextOutput output(*input.run);
    merge_some(group, output, progress);
  } else {
    TextOutput output(input.scratch.front(), input.source.path);
    merge_some(group, output, progress);
  }
  return input;
}

TextInput SortedRuns::opened(Input& input) {
  if (input.run) return TextInput(std::move(input.run));
  return input.scratch.empty() ? TextInput(input.source) : TextInput(input.scratch.front());
}

std::uint64_t SortedRuns::merge_some(std::span<Input> inputs, TextOutput& output, const Progress* progress) {
  constexpr std::uint64_t least_bytes = 64 << 10, most_bytes = 4 << 20;
  std::uint64_t long_bytes = 0;
  for (const Input& input : inputs) long_bytes += input.long_bytes;
  const std::uint64_t left = settings_.memory_bytes - std::min(long_bytes, limits_.most_merge_bytes());
  const std::uint64_t for_each = left / 2 / std::max<std::size_t>(inputs.size(), 1);
  const std::uint64_t to_unpack = packing_->choice().packing == Packing::never
                                      ? 0
                                      : std::min<std::uint64_t>(for_each, RunFile::reading_bytes);
  const std::uint64_t buffer_bytes = std::clamp(for_each - to_unpack, least_bytes, most_bytes);
  std::vector<LineStream> streams;
  std::vector<std::string> paths;  // of externally sorted inputs; GNU sort does not check their order
  UnforeseenLines unforeseen{limits_, limits_.most_unforeseen_bytes()};
  for (Input& input : inputs) {
    const bool is_limited = !input.run && input.scratch.empty() && !settings_.lines_may_exceed_memory;
    streams.emplace_back(opened(input), order_, buffer_bytes, settings_.first_row,
                         is_limited ? &unforeseen : nullptr);
    paths.push_back(is_limited ? input.source.path : std::string());
    input.scratch.clear();  // its space is free once it has been read
  }
  return LineMerge(std::move(streams), order_, settings_.unique, std::move(paths))
      .write(output, {.lines = settings_.most_lines}, progress);
}

}  // namespace sortcore
