#include "sortcore/external/block_source.hpp"

#include <algorithm>
#include <utility>

#include "random_sequence.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::uint64_t most_sample_spots = 1024;
constexpr std::uint64_t fewest_sample_spots = 16;
constexpr std::uint64_t least_unsampled = 32;  // windows of input per sampled one
constexpr std::size_t smallest_window = 2 * page_bytes;
constexpr std::size_t most_windows_bytes = 1'048'576;  // read before they are searched
constexpr unsigned sample_reads_at_once = 8;

// Stride of records that may begin anywhere in a block's first page.
std::size_t stride_bytes(const RecordFormat& format, const ExternalPlan& plan) {
  if (!plan.padded) return plan.block_bytes;
  return (plan.block_bytes - page_bytes) / format.record_bytes * format.record_bytes;
}

}  // namespace

FilesSource::FilesSource(std::vector<InputFile> inputs, const RecordFormat& format, const ExternalPlan& plan)
    : inputs_(std::move(inputs)), format_(format) {
  const std::size_t stride = stride_bytes(format, plan);
  const auto add = [&](std::size_t input, std::uint64_t offset) {
    const std::uint64_t left = inputs_[input].bytes - offset;
    pieces_.push_back({pieces_.size(), static_cast<std::uint32_t>(input), offset,
                       static_cast<std::size_t>(std::min<std::uint64_t>(left, stride))});
  };
  std::uint64_t longest = 0;
  for (const InputFile& input : inputs_) longest = std::max(longest, input.bytes);
  if (plan.stable) {
    for (std::size_t input = 0; input < inputs_.size(); ++input)
      for (std::uint64_t offset = 0; offset < inputs_[input].bytes; offset += stride) add(input, offset);
    return;
  }
  for (std::uint64_t offset = 0; offset < longest; offset += stride) {
    for (std::size_t input = 0; input < inputs_.size(); ++input)
      if (offset < inputs_[input].bytes) add(input, offset);
  }
}

// Evenly spaced windows, each shifted at random within its stretch so that no period of the input biases the
// sample.
std::uint64_t FilesSource::sample(std::size_t count, const Visit& visit) {
  std::uint64_t total = 0;
  for (const InputFile& input : inputs_) total += input.bytes;
  const std::size_t window_bytes =
      std::max<std::size_t>(smallest_window, round_up_to_pages(2 * std::size_t{format_.record_bytes}));
  const std::uint64_t all_spots =
      std::clamp(total / (least_unsampled * window_bytes), fewest_sample_spots, most_sample_spots);
  std::vector<SampleSpot> spots;
  for (const InputFile& input : inputs_) {
    const std::uint64_t of_input =
        std::max<std::uint64_t>(1, all_spots * input.bytes / std::max<std::uint64_t>(total, 1));
    const std::uint64_t stretch = input.bytes / of_input;
    for (std::uint64_t spot = 0; spot < of_input && input.bytes > 0; ++spot) {
      const std::uint64_t shift =
          stretch > window_bytes ? RandomSequence::mix(spot) % (stretch - window_bytes) : 0;
      const std::uint64_t offset = (spot * stretch + shift) / page_bytes * page_bytes;
      spots.push_back(
          {input.file, offset,
           static_cast<std::size_t>(std::min<std::uint64_t>(window_bytes, input.bytes - offset))});
    }
  }
  return visit_spots(spots, window_bytes, count / all_spots + 1, visit);
}

// A disk answers several small reads in the time of one.
std::uint64_t FilesSource::visit_spots(std::span<const SampleSpot> spots, std::size_t window_bytes,
                                       std::size_t keys, const Visit& visit) const {
  const std::size_t together =
      std::clamp<std::size_t>(most_windows_bytes / window_bytes, 1, spots.size() + 1);
  Buffer windows(together * window_bytes);
  std::uint64_t bytes_read = 0;
  for (std::size_t first = 0; first < spots.size(); first += together) {
    const auto group = spots.subspan(first, std::min(together, spots.size() - first));
    for_each_in_parallel(group.size(), sample_reads_at_once, [&](std::uint64_t i) {
      group[i].file->read_exactly(windows.data() + i * window_bytes, group[i].bytes, group[i].offset);
    });
    for (std::size_t i = 0; i < group.size(); ++i) {
      const std::span<const std::byte> window(windows.data() + i * window_bytes, group[i].bytes);
      visit(whole_records(window, group[i].offset), keys);
      bytes_read += window.size();
    }
  }
  return bytes_read;
}

void FilesSource::check_sizes() const {
  for (const InputFile& input : inputs_) {
    const std::uint64_t size = input.file->size();
    if (size >= input.bytes) continue;
    throw Error(ErrorCode::io,
                input.file->path() + " shrank while being read, from " + std::to_string(input.bytes) +
                    " to " + std::to_string(size) + " bytes",
                input.file->path(), static_cast<std::int64_t>(size));
  }
}

std::optional<SourceBlock> FilesSource::next(std::byte* into, StageClock& clock) {
  const std::size_t index = next_.fetch_add(1);
  if (index >= pieces_.size()) return std::nullopt;
  const Piece& piece = pieces_[index];
  const auto [file, file_bytes] = inputs_[piece.input];
  const bool direct = file->is_direct();
  const std::size_t skipped = direct ? piece.offset % page_bytes : 0;
  const std::uint64_t end = piece.offset + piece.bytes;
  file->read_exactly(into, skipped + piece.bytes, piece.offset - skipped);
  clock.bytes += (direct ? std::min(round_up_to_pages(end), file_bytes) : end) - (piece.offset - skipped);
  return SourceBlock{{into + skipped, piece.bytes}, piece.sequence};
}

// The whole records within a window of a file that begins at `offset`.
std::span<const std::byte> FilesSource::whole_records(std::span<const std::byte> window,
                                                      std::uint64_t offset) const {
  const std::size_t record_bytes = format_.record_bytes;
  const std::size_t skipped = (record_bytes - offset % record_bytes) % record_bytes;
  if (skipped >= window.size()) return {};
  return window.subspan(skipped, (window.size() - skipped) / record_bytes * record_bytes);
}

std::optional<SourceBlock> PartitionSource::next(std::byte* into, StageClock& clock) {
  const auto drained = store_.drain(partition_, into, clock, in_order_);
  if (!drained) return std::nullopt;
  return SourceBlock{{into, drained->bytes}, drained->sequence};
}

// The chunks of a partition are filled in the order of the input: a few keys of each are enough.
std::uint64_t PartitionSource::sample(std::size_t count, const Visit& visit) {
  const std::size_t per_chunk = count / std::max<std::size_t>(store_.chunks_of(partition_), 1) + 1;
  return store_.sample_chunks(partition_, per_chunk * sample_bytes_,
                              [&](std::span<const std::byte> part) { visit(part, per_chunk); });
}

}  // namespace sortcore
