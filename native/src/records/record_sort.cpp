#include "sortcore/records/record_sort.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "records/gather.hpp"
#include "records/key_window.hpp"
#include "records/ordering.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {

struct KeySorter::State {
  State(const RecordFormat& record_format, unsigned thread_count)
      : format(record_format), threads(resolve_threads(thread_count)) {}

  void finish_all() const {
    for_each_in_parallel(ordering.buckets(), useful_threads(ordering.records(), threads),
                         [&](std::uint64_t bucket) { ordering.finish(bucket); });
  }

  RecordFormat format;
  unsigned threads;
  RecordArray array;
  Ordering<RecordKeys> ordering;
};

std::uint64_t scratch_bytes(std::uint64_t records, unsigned threads) {
  threads = useful_threads(records, resolve_threads(threads));
  const std::size_t buckets = std::size_t{1} << bucket_bits_for(records);
  const std::uint64_t blocks = EntryBlocks::blocks_needed(records, buckets, threads);
  constexpr std::uint64_t bytes_per_block = block_alignment + sizeof(std::uint32_t);
  return blocks * bytes_per_block + records * sizeof(std::uint32_t) + threads * BucketSorter::most_bytes +
         2 * Buffer::huge_page_bytes;
}

KeySorter::KeySorter(const RecordFormat& format, unsigned threads) {
  format.check();
  state_ = std::make_unique<State>(format, threads);
}
KeySorter::~KeySorter() = default;
KeySorter::KeySorter(KeySorter&&) noexcept = default;
KeySorter& KeySorter::operator=(KeySorter&&) noexcept = default;

void KeySorter::sort(std::span<const std::byte> input, Progress* progress) {
  const RecordRun all{0, state_->format.whole_records(input.size())};
  sort(input.data(), {&all, 1}, progress);
}

void KeySorter::sort(const std::byte* base, std::span<const RecordRun> runs, Progress* progress) {
  sort(RecordArray(base, state_->format.record_bytes), runs, progress);
}

void KeySorter::sort(const RecordArray& records, std::span<const RecordRun> runs, Progress* progress) {
  const std::uint64_t extent = runs.empty() ? 0 : runs.back().first_record + runs.back().records;
  if (extent > max_records_in_memory) {
    throw Error(ErrorCode::bad_input, "one sort in memory takes at most " +
                                          std::to_string(max_records_in_memory) + " records, not " +
                                          std::to_string(extent) + ": partition them first");
  }
  state_->array = records;
  state_->ordering.distribute(RecordKeys(records, extent, state_->format), runs, state_->threads, progress);
}

std::uint64_t KeySorter::records() const noexcept { return state_->ordering.records(); }

void KeySorter::gather(std::uint64_t first_record, std::span<std::byte> out) const {
  const Ordering<RecordKeys>& ordering = state_->ordering;
  const std::uint64_t count = state_->format.whole_records(out.size());
  if (first_record > records() || count > records() - first_record) {
    throw Error(ErrorCode::bad_input,
                "cannot gather beyond the last of " + std::to_string(records()) + " records");
  }
  const auto workspace = ordering.workspace();
  const std::uint64_t past = first_record + count;
  std::uint64_t at = first_record;
  for (std::size_t bucket = count == 0 ? ordering.buckets() : ordering.bucket_at(at); at < past; ++bucket) {
    const std::uint64_t end = std::min(past, ordering.start(bucket + 1));
    const bool whole = at == ordering.start(bucket) && end == ordering.start(bucket + 1);
    if (!whole) ordering.finish(bucket);  // another call gathers the rest
    const std::uint32_t* const order = whole ? ordering.order_of(bucket, *workspace) : ordering.order() + at;
    if (end < past) ordering.prefetch(bucket + 1);
    gather_records(state_->array, order, end - at,
                   out.data() + (at - first_record) * state_->format.record_bytes, true);
    at = end;
  }
}

void KeySorter::gather_bytes(std::uint64_t from, std::span<std::byte> out) const {
  const std::size_t record_bytes = state_->format.record_bytes;
  std::vector<std::byte> record;
  const auto gather_part = [&](std::span<std::byte> part) {
    if (part.empty()) return;
    record.resize(record_bytes);
    const std::uint64_t at = from + static_cast<std::uint64_t>(part.data() - out.data());
    gather(at / record_bytes, record);
    std::memcpy(part.data(), record.data() + at % record_bytes, part.size());
  };
  const std::size_t to_next = (record_bytes - from % record_bytes) % record_bytes;
  const std::size_t first = std::min(to_next, out.size());
  const std::size_t whole = (out.size() - first) / record_bytes * record_bytes;
  gather_part(out.first(first));
  gather((from + first) / record_bytes, out.subspan(first, whole));
  gather_part(out.subspan(first + whole));
}

std::span<const std::uint32_t> KeySorter::order() const {
  state_->finish_all();
  return {state_->ordering.order(), records()};
}

void KeySorter::gather_all(std::span<std::byte> out, Progress* progress) const {
  const State& state = *state_;
  const Ordering<RecordKeys>& ordering = state.ordering;
  const std::size_t record_bytes = state.format.record_bytes;
  std::atomic<std::size_t> next{0};
  run_parallel(useful_threads(records(), state.threads), [&](unsigned) {
    const auto workspace = ordering.workspace();
    std::size_t following = next++;
    while (following < ordering.buckets()) {
      const std::size_t bucket = std::exchange(following, next++);
      throw_if_cancelled(progress);
      const std::uint64_t count = ordering.start(bucket + 1) - ordering.start(bucket);
      const std::uint32_t* const order = ordering.order_of(bucket, *workspace);
      ordering.prefetch(following);
      gather_records(state.array, order, count, out.data() + ordering.start(bucket) * record_bytes, true);
      add_progress(progress, count * record_bytes);
    }
  });
}

void sort_records(std::span<const std::byte> in, std::span<std::byte> out, KeySorter& sorter,
                  Progress* progress) {
  if (in.size() != out.size()) {
    throw Error(ErrorCode::bad_input, "input and output differ in size: " + std::to_string(in.size()) +
                                          " and " + std::to_string(out.size()) + " bytes");
  }
  if (progress != nullptr) progress->begin_phase(0, in.size());
  sorter.sort(in, progress);
  sorter.gather_all(out, progress);
}

void sort_records(std::span<const std::byte> in, std::span<std::byte> out, const RecordFormat& format,
                  unsigned threads, Progress* progress) {
  KeySorter sorter(format, threads);
  sort_records(in, out, sorter, progress);
}

}  // namespace sortcore
