#include "keys/sorted_runs.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "keys/merge_lines.hpp"
#include "sortcore/io/scratch_files.hpp"

namespace sortcore {
namespace {

constexpr std::size_t most_open_files = 512;

}  // namespace

SortedRuns::Input SortedRuns::new_scratch() {
  const std::string& directory = settings_.directories[turn_++ % settings_.directories.size()];
  Input input{{directory}, {}};
  input.scratch.push_back(create_unlinked(directory, File::Caching::buffered));
  return input;
}

void SortedRuns::add(const RunSorter& sorted, const Progress* progress) {
  Input input = new_scratch();
  TextOutput output(input.scratch.front(), input.source.path);
  output.write(
      sorted.bytes(), settings_.threads,
      [&](std::uint64_t from, std::span<std::byte> out) { sorted.gather(from, out); }, progress);
  inputs_.push_back(std::move(input));
  if (inputs_.size() >= most_open_files) merge_groups(progress);
}

std::uint64_t SortedRuns::merge(TextOutput& output, const Progress* progress) {
  while (inputs_.size() > settings_.most_merged) merge_groups(progress);
  return merge_some(0, inputs_.size(), output, progress);
}

// Neighbours, so that equal lines keep their order.
void SortedRuns::merge_groups(const Progress* progress) {
  std::vector<Input> merged;
  for (std::size_t first = 0; first < inputs_.size(); first += settings_.most_merged) {
    const std::size_t count = std::min(settings_.most_merged, inputs_.size() - first);
    Input input = new_scratch();
    TextOutput output(input.scratch.front(), input.source.path);
    merge_some(first, count, output, progress);
    merged.push_back(std::move(input));
  }
  inputs_ = std::move(merged);
}

std::uint64_t SortedRuns::merge_some(std::size_t first, std::size_t count, TextOutput& output,
                                     const Progress* progress) {
  constexpr std::uint64_t least_bytes = 64 << 10, most_bytes = 4 << 20;
  const std::uint64_t buffer_bytes =
      std::clamp(settings_.memory_bytes / 2 / std::max<std::size_t>(count, 1), least_bytes, most_bytes);
  std::vector<LineStream> streams;
  for (std::size_t i = first; i < first + count; ++i) {
    Input& input = inputs_[i];
    streams.emplace_back(input.scratch.empty() ? TextInput(input.source) : TextInput(input.scratch.front()),
                         order_, buffer_bytes, settings_.first_row);
    input.scratch.clear();  // its space is free as soon as it has been read
  }
  return merge_lines(streams, order_, {settings_.unique, settings_.most_lines}, output, progress);
}

}  // namespace sortcore
