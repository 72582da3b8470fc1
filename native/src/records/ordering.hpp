// Putting records in order without moving them: sample, distribute entries over buckets, sort each bucket
// when it is asked for.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "records/bucket_classifier.hpp"
#include "records/bucket_sort.hpp"
#include "records/entry.hpp"
#include "records/entry_blocks.hpp"
#include "records/key_sample.hpp"
#include "records/tie_break.hpp"
#include "sortcore/progress.hpp"
#include "sortcore/records/record_sort.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {

// About 5000 records a bucket, so that a bucket is sorted in the cache; at most 8192 buckets, so that the
// blocks being filled stay in the cache too.
unsigned bucket_bits_for(std::uint64_t records) noexcept;

// Threads worth starting for this many records.
unsigned useful_threads(std::uint64_t records, unsigned threads) noexcept;

// `Keys` is RecordKeys or LineKeys: windows and chunks of keys by index.
template <typename Keys>
class Ordering {
 public:
  // Reads all keys once and distributes them. `runs` are the indices to sort, ascending.
  void distribute(const Keys& keys, std::span<const RecordRun> runs, unsigned threads,
                  const Progress* progress);

  std::uint64_t records() const noexcept { return starts_.empty() ? 0 : starts_.back(); }
  std::size_t buckets() const noexcept { return starts_.empty() ? 0 : starts_.size() - 1; }
  // Sorted records [start(b), start(b + 1)) are those of bucket b.
  std::uint64_t start(std::size_t bucket) const noexcept { return starts_[bucket]; }
  std::size_t bucket_at(std::uint64_t position) const noexcept {
    return static_cast<std::size_t>(std::ranges::upper_bound(starts_, position) - starts_.begin()) - 1;
  }

  // Calls visit(index) for the records of a bucket, in no particular order.
  template <typename Visit>
  void for_each_index(std::size_t bucket, Visit visit) const {
    blocks_.for_each_stretch(bucket, [&](const Entry* entries, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) visit(layout_.index_of(entries[i]));
    });
  }

  // Sorts a bucket unless that has been done; threads may ask for the same bucket at once.
  void finish(std::size_t bucket) const;

  // The indices of a bucket in sorted order, for a caller who needs them once: unless the bucket is finished
  // they are sorted into the workspace, valid until its next use, and not kept.
  const std::uint32_t* order_of(std::size_t bucket, BucketSorter& workspace) const;
  BucketSorterPool::Borrowed workspace() const { return sorters_.borrow(); }

  // Prefetches a bucket that will be sorted soon.
  void prefetch(std::size_t bucket) const noexcept {
    if (bucket < buckets()) blocks_.prefetch(bucket);
  }

  // Input indices in sorted order; those of finished buckets are valid.
  const std::uint32_t* order() const noexcept { return order_.get(); }
  std::uint32_t* order() noexcept { return order_.get(); }

 private:
  enum State : std::uint8_t { distributed, being_sorted, sorted };

  void distribute_on(std::uint64_t records, unsigned threads, const Progress* progress);
  void distribute_part(Range part, EntryBlocks::Appender& to, const Progress* progress);
  void distribute_run(std::uint64_t begin, std::uint64_t end, EntryBlocks::Appender& to);
  void mark_exceptions(std::uint32_t which, const BucketClassifier::Buckets& buckets) noexcept;
  void prepare_finishing();
  void sort_bucket(std::size_t bucket, BucketSorter& workspace, std::uint32_t* out) const;
  bool write_if_equal(std::size_t bucket, std::uint32_t* out) const;
  void ask_ahead(std::span<const Entry> entries, std::size_t& asked, std::size_t at) const;
  void break_all_ties(std::span<const Entry> entries, std::uint32_t* out) const;
  bool entries_tell_all(std::size_t bucket) const noexcept;

  Keys keys_;
  std::vector<RecordRun> runs_;
  EntryLayout layout_;
  std::optional<BucketClassifier> classifier_;
  EntryBlocks blocks_;
  // For each bucket whether it has keys that their windows misrepresent.
  std::unique_ptr<std::atomic<bool>[]> has_exceptions_;
  std::vector<std::uint64_t> starts_;
  // Not in huge pages: often only the buckets between two blocks of output are finished here, so that most of
  // it is never touched.
  std::unique_ptr<std::uint32_t[]> order_;
  std::size_t order_size_ = 0;
  std::unique_ptr<std::atomic<std::uint8_t>[]> states_;
  std::size_t states_size_ = 0;
  mutable BucketSorterPool sorters_;
};

template <typename Keys>
void Ordering<Keys>::distribute(const Keys& keys, std::span<const RecordRun> runs, unsigned threads,
                                const Progress* progress) {
  keys_ = keys;
  runs_.assign(runs.begin(), runs.end());
  layout_ = EntryLayout::for_records(runs_.empty() ? 0 : runs_.back().first_record + runs_.back().records);
  std::uint64_t records = 0;
  for (const RecordRun& run : runs_) records += run.records;
  threads = useful_threads(records, threads);

  const KeySample sample(keys_, runs_, records, bucket_bits_for(records));
  const auto common = sample.common();
  keys_.skip(common.bytes, common.record);
  keys_.learn(sample.indices());
  classifier_.emplace(sample.highs(keys_), bucket_bits_for(records));
  distribute_on(records, threads, progress);
  prepare_finishing();
}

template <typename Keys>
void Ordering<Keys>::distribute_on(std::uint64_t records, unsigned threads, const Progress* progress) {
  std::vector<Range> parts;
  for (unsigned i = 0; i < threads; ++i) parts.push_back(part_of(records, i, threads));
  blocks_.reset(classifier_->buckets(), parts);
  has_exceptions_ = std::make_unique<std::atomic<bool>[]>(classifier_->buckets());
  run_parallel(threads,
               [&](unsigned index) { distribute_part(parts[index], blocks_.appender(index), progress); });
}

template <typename Keys>
void Ordering<Keys>::distribute_part(Range part, EntryBlocks::Appender& to, const Progress* progress) {
  constexpr std::uint64_t records_between_polls = 1 << 16;
  std::uint64_t run_begin = 0;
  for (const RecordRun& run : runs_) {
    const std::uint64_t begin = std::max(part.begin, run_begin),
                        end = std::min(part.end, run_begin + run.records);
    for (std::uint64_t at = begin; at < end; at += records_between_polls) {
      throw_if_cancelled(progress);
      const std::uint64_t stop = std::min(end, at + records_between_polls);
      const std::uint64_t to_index = run.first_record - run_begin;
      distribute_run(at + to_index, stop + to_index, to);
    }
    run_begin += run.records;
  }
}

template <typename Keys>
void Ordering<Keys>::distribute_run(std::uint64_t begin, std::uint64_t end, EntryBlocks::Appender& to) {
  constexpr std::size_t batch = BucketClassifier::batch;
  const Keys keys = keys_;  // a local copy stays in registers
  const BucketClassifier& classifier = *classifier_;
  const Entry key_mask = ~layout_.index_mask();
  BucketClassifier::Highs highs{};
  BucketClassifier::Buckets buckets;
  std::array<std::uint64_t, batch> lows;
  for (std::uint64_t first = begin; first < end; first += batch) {
    const std::size_t count = std::min<std::uint64_t>(batch, end - first);
    std::uint32_t exceptions = 0;
    static_assert(batch <= 32);
    for (std::size_t i = 0; i < count; ++i) {
      bool is_exception = false;
      const KeyWindow window = keys.window(first + i, is_exception);
      keys.prefetch_behind(first + i);
      highs[i] = window.high;
      lows[i] = window.low;
      exceptions |= std::uint32_t{is_exception} << i;
    }
    classifier.classify(highs, buckets);
    if (exceptions != 0) [[unlikely]]
      mark_exceptions(exceptions, buckets);
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t spread = classifier.spread(buckets[i], {highs[i], lows[i]});
      to.append(buckets[i], (spread & key_mask) | (first + i));
    }
  }
}

template <typename Keys>
void Ordering<Keys>::mark_exceptions(std::uint32_t which, const BucketClassifier::Buckets& buckets) noexcept {
  for (; which != 0; which &= which - 1)
    has_exceptions_[buckets[static_cast<std::size_t>(std::countr_zero(which))]].store(
        true, std::memory_order_relaxed);
}

template <typename Keys>
void Ordering<Keys>::prepare_finishing() {
  starts_.resize(blocks_.buckets() + 1);
  starts_[0] = 0;
  for (std::size_t bucket = 0; bucket < blocks_.buckets(); ++bucket) {
    starts_[bucket + 1] = starts_[bucket] + blocks_.entries_in(bucket);
  }
  if (order_size_ < records()) {
    order_ = std::make_unique_for_overwrite<std::uint32_t[]>(records());
    order_size_ = records();
  }
  if (states_size_ < buckets()) {
    states_ = std::make_unique<std::atomic<std::uint8_t>[]>(buckets());
    states_size_ = buckets();
  }
  for (std::size_t bucket = 0; bucket < buckets(); ++bucket) states_[bucket].store(distributed);
}

template <typename Keys>
void Ordering<Keys>::finish(std::size_t bucket) const {
  std::atomic<std::uint8_t>& state = states_[bucket];
  while (state.load(std::memory_order_acquire) != sorted) {
    std::uint8_t expected = distributed;
    if (!state.compare_exchange_strong(expected, being_sorted)) {
      state.wait(being_sorted);
      continue;
    }
    try {
      sort_bucket(bucket, *workspace(), order_.get() + starts_[bucket]);
    } catch (...) {
      state.store(distributed);
      state.notify_all();
      throw;
    }
    state.store(sorted, std::memory_order_release);
    state.notify_all();
  }
}

template <typename Keys>
const std::uint32_t* Ordering<Keys>::order_of(std::size_t bucket, BucketSorter& workspace) const {
  if (states_[bucket].load(std::memory_order_acquire) == sorted) return order_.get() + starts_[bucket];
  std::uint32_t* const out = workspace.index_buffer(starts_[bucket + 1] - starts_[bucket]);
  sort_bucket(bucket, workspace, out);
  return out;
}

template <typename Keys>
void Ordering<Keys>::sort_bucket(std::size_t bucket, BucketSorter& workspace, std::uint32_t* out) const {
  const std::uint64_t count = starts_[bucket + 1] - starts_[bucket];
  if (count == 0) return;
  const bool equal = write_if_equal(bucket, out);
  if (equal && entries_tell_all(bucket)) return;
  if (equal) return TieBreaker(keys_).sort({out, count});
  const BucketSorter::Sorted sorted_bucket = workspace.sort(blocks_, bucket, layout_, out);
  if (sorted_bucket.has_ties && !entries_tell_all(bucket)) break_all_ties(sorted_bucket.entries, out);
}

// Writes the indices of a bucket whose entries have equal keys, for example a frequent key: they are already
// in order.
template <typename Keys>
bool Ordering<Keys>::write_if_equal(std::size_t bucket, std::uint32_t* out) const {
  std::optional<std::uint64_t> key;
  bool equal = true;
  blocks_.for_each_stretch(bucket, [&](const Entry* entries, std::size_t count) {
    if (!equal) return;
    if (!key) key = layout_.key_of(entries[0]);
    for (std::size_t i = 0; i < count && equal; ++i, ++out) {
      equal = layout_.key_of(entries[i]) == *key;
      *out = layout_.index_of(entries[i]);
    }
  });
  return equal;
}

// Prefetches the keys of ties that will be broken soon, and before that their places.
template <typename Keys>
void Ordering<Keys>::ask_ahead(std::span<const Entry> entries, std::size_t& asked, std::size_t at) const {
  constexpr std::size_t keys_ahead = 16, from_place_to_key = 16;
  const auto equals_next = [&](std::size_t i) {
    return i + 1 < entries.size() && layout_.key_of(entries[i]) == layout_.key_of(entries[i + 1]);
  };
  const auto is_tied = [&](std::size_t i) { return equals_next(i) || (i > 0 && equals_next(i - 1)); };
  for (const std::size_t end = std::min(entries.size(), at + keys_ahead); asked < end; ++asked) {
    if (is_tied(asked + from_place_to_key))
      keys_.prefetch_place(layout_.index_of(entries[asked + from_place_to_key]));
    if (is_tied(asked)) keys_.prefetch_key(layout_.index_of(entries[asked]));
  }
}

template <typename Keys>
void Ordering<Keys>::break_all_ties(std::span<const Entry> entries, std::uint32_t* out) const {
  TieBreaker ties(keys_);
  std::size_t asked = 0;
  for (std::size_t begin = 0, end = 1; begin < entries.size(); begin = end++) {
    ask_ahead(entries, asked, begin);
    const std::uint64_t key = layout_.key_of(entries[begin]);
    while (end < entries.size() && layout_.key_of(entries[end]) == key) ++end;
    if (end - begin > 1) ties.sort(std::span(out + begin, end - begin));
  }
}

// True when the bits of a bucket's entries are all the bits in which its keys can differ.
template <typename Keys>
bool Ordering<Keys>::entries_tell_all(std::size_t bucket) const noexcept {
  if (has_exceptions_[bucket].load(std::memory_order_relaxed)) return false;
  const std::uint64_t told = std::uint64_t{classifier_->shift_of(bucket)} + layout_.key_bits();
  return keys_.window_tells_all() && told >= keys_.window_bits();
}

}  // namespace sortcore
