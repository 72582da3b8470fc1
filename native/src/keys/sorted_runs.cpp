#include "keys/sorted_runs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "keys/merge_lines.hpp"
#include "sortcore/io/scratch_files.hpp"

namespace sortcore {
namespace {

// Beside the runs that are merged: where they go, and a second descriptor of the one that is being opened.
constexpr std::size_t beside_merged = 2;
constexpr std::size_t fewest_merged = 2;

}  // namespace

SortedRuns::SortedRuns(const KeyOrder& order, MergeSettings settings)
    : order_(order),
      settings_(std::move(settings)),
      packing_(std::make_unique<RunPacking>(PackingChoice{}, settings_.threads)) {
  settings_.free_descriptors = std::max(settings_.free_descriptors, fewest_merged + beside_merged);
  settings_.most_merged = std::min(settings_.most_merged, settings_.free_descriptors - beside_merged);
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

void SortedRuns::add(const RunSorter& sorted, const Progress* progress) {
  Input input = new_scratch();
  const auto gather = [&](std::uint64_t from, std::span<std::byte> out) { sorted.gather(from, out); };
  if (input.run) {
    input.run->fill(sorted.bytes(), settings_.threads, gather, progress);
  } else {
    TextOutput(input.scratch.front(), input.source.path)
        .write(sorted.bytes(), settings_.threads, gather, progress);
    packing_->spilled_bytes += sorted.bytes();
  }
  inputs_.push_back(std::move(input));
  if (inputs_.size() + beside_merged >= settings_.free_descriptors)
    inputs_ = grouped(std::move(inputs_), progress);
}

std::uint64_t SortedRuns::merge(TextOutput& output, const Progress* progress) {
  while (inputs_.size() > settings_.most_merged) inputs_ = grouped(std::move(inputs_), progress);
  return merge_some(inputs_, output, progress);
}

// Merges neighbours, so that equal lines keep their order. Where results would take too many descriptors they
// become one before there are more.
std::vector<SortedRuns::Input> SortedRuns::grouped(std::vector<Input> inputs, const Progress* progress) {
  std::vector<Input> merged;
  for (std::size_t first = 0; first < inputs.size(); first += settings_.most_merged) {
    if (merged.size() + settings_.most_merged + beside_merged > settings_.free_descriptors) {
      while (merged.size() > 1) merged = grouped(std::move(merged), progress);
    }
    merged.push_back(merged_group(inputs, first, progress));
  }
  return merged;
}

// Of up to `most_merged` inputs.
SortedRuns::Input SortedRuns::merged_group(std::vector<Input>& inputs, std::size_t first,
                                           const Progress* progress) {
  Input input = new_scratch();
  const auto group = std::span(inputs).subspan(first, std::min(settings_.most_merged, inputs.size() - first));
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
  const std::uint64_t for_each = settings_.memory_bytes / 2 / std::max<std::size_t>(inputs.size(), 1);
  const std::uint64_t to_unpack = packing_->choice().packing == Packing::never
                                      ? 0
                                      : std::min<std::uint64_t>(for_each, RunFile::reading_bytes);
  const std::uint64_t buffer_bytes = std::clamp(for_each - to_unpack, least_bytes, most_bytes);
  std::vector<LineStream> streams;
  for (Input& input : inputs) {
    streams.emplace_back(opened(input), order_, buffer_bytes, settings_.first_row);
    input.scratch.clear();  // its space is free as soon as it has been read
  }
  return merge_lines(streams, order_, {settings_.unique, settings_.most_lines}, output, progress);
}

}  // namespace sortcore
