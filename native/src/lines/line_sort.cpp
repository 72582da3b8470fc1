#include "sortcore/lines/line_sort.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "lines/line_gather.hpp"
#include "lines/line_index.hpp"
#include "lines/line_keys.hpp"
#include "lines/newlines.hpp"
#include "records/ordering.hpp"
#include "sortcore/error.hpp"
#include "sortcore/records/record_sort.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {

struct LineSorter::State {
  State(const LineFormat& line_format, unsigned thread_count)
      : format(line_format), threads(resolve_threads(thread_count)) {}

  LinePlaces places() const noexcept { return {base, index.starts(), index.extent()}; }

  // Offset of each bucket's text in the sorted one, so that any part of it can be gathered.
  void add_up_buckets(Progress* progress) {
    begins.assign(ordering.buckets() + 1, 0);
    const LinePlaces lines = places();
    for_each_in_parallel(
        ordering.buckets(), useful_threads(ordering.records(), threads), [&](std::uint64_t bucket) {
          throw_if_cancelled(progress);
          std::uint64_t bytes = 0;
          ordering.for_each_index(bucket, [&](std::uint32_t line) { bytes += lines.bytes(line); });
          begins[bucket + 1] = bytes;
        });
    for (std::size_t bucket = 0; bucket < ordering.buckets(); ++bucket) begins[bucket + 1] += begins[bucket];
  }

  std::span<const std::uint32_t> finished(std::size_t bucket) const {
    ordering.finish(bucket);
    return {ordering.order() + ordering.start(bucket), ordering.start(bucket + 1) - ordering.start(bucket)};
  }

  LineFormat format;
  unsigned threads;
  const std::byte* base = nullptr;
  LineIndex index;
  Ordering<LineKeys> ordering;
  std::vector<std::uint64_t> begins;
};

std::uint64_t line_scratch_bytes(std::uint64_t lines, unsigned threads) {
  return scratch_bytes(lines, threads) + lines * sizeof(std::uint64_t) + Buffer::huge_page_bytes;
}

std::uint64_t count_lines(std::span<const std::byte> text, unsigned threads) {
  constexpr std::uint64_t bytes_per_thread = 1 << 22;
  threads = static_cast<unsigned>(
      std::clamp<std::uint64_t>(text.size() / bytes_per_thread, 1, resolve_threads(threads)));
  std::atomic<std::uint64_t> lines{!text.empty() && text.back() != newline};
  run_parallel(threads, [&](unsigned index) {
    const Range part = part_of(text.size(), index, threads);
    lines += count_newlines(text.subspan(part.begin, part.end - part.begin));
  });
  return lines;
}

LineSorter::LineSorter(const LineFormat& format, unsigned threads) {
  format.check();
  state_ = std::make_unique<State>(format, threads);
}
LineSorter::~LineSorter() = default;
LineSorter::LineSorter(LineSorter&&) noexcept = default;
LineSorter& LineSorter::operator=(LineSorter&&) noexcept = default;

void LineSorter::sort(std::span<const std::byte> text, Progress* progress) {
  const TextRun all{0, text.size()};
  sort(text.data(), {&all, 1}, progress);
}

void LineSorter::sort(const std::byte* base, std::span<const TextRun> runs, Progress* progress,
                      std::uint64_t most_lines) {
  State& state = *state_;
  state.base = base;
  state.index.build(base, runs, state.threads, most_lines, progress);
  const LineKeys keys(base, state.index.starts(), state.index.extent(), state.format);
  state.ordering.distribute(keys, state.index.lines(), state.threads, progress);
  state.add_up_buckets(progress);
}

std::uint64_t LineSorter::lines() const noexcept { return state_->ordering.records(); }
std::uint64_t LineSorter::bytes() const noexcept { return state_->index.bytes(); }

void LineSorter::gather(std::uint64_t first_byte, std::span<std::byte> out) const {
  const State& state = *state_;
  if (first_byte > bytes() || out.size() > bytes() - first_byte) {
    throw Error(ErrorCode::bad_input,
                "cannot gather beyond the last of " + std::to_string(bytes()) + " bytes of lines");
  }
  auto bucket =
      static_cast<std::size_t>(std::ranges::upper_bound(state.begins, first_byte) - state.begins.begin()) - 1;
  std::uint64_t skipped = first_byte - state.begins[bucket];
  for (; !out.empty(); ++bucket, skipped = 0)
    out = out.subspan(gather_lines(state.places(), state.finished(bucket), skipped, out));
}

std::uint64_t sort_lines(std::span<const std::byte> text, std::span<std::byte> out, const LineFormat& format,
                         unsigned threads, Progress* progress) {
  if (progress != nullptr) progress->begin_phase(0, text.size());
  LineSorter sorter(format, threads);
  sorter.sort(text, progress);
  if (sorter.bytes() != out.size()) {
    throw Error(ErrorCode::bad_input, "the sorted lines are " + std::to_string(sorter.bytes()) +
                                          " bytes, the output has " + std::to_string(out.size()));
  }
  constexpr std::size_t part_bytes = 1 << 20;
  const unsigned workers = useful_threads(sorter.lines(), resolve_threads(threads));
  for_each_in_parallel((out.size() + part_bytes - 1) / part_bytes, workers, [&](std::uint64_t index) {
    throw_if_cancelled(progress);
    const std::size_t at = index * part_bytes;
    const auto part = out.subspan(at, std::min(part_bytes, out.size() - at));
    sorter.gather(at, part);
    add_progress(progress, part.size());
  });
  return sorter.lines();
}

}  // namespace sortcore
