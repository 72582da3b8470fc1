#include "keys/run_sorter.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <string_view>

#include "keys/cut_text.hpp"
#include "keys/encodings.hpp"
#include "sortcore/error.hpp"
#include "sortcore/keys/line_encoder.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

[[noreturn]] void throw_too_little() {
  throw Error(ErrorCode::too_little_memory,
              "the memory given does not hold the places and keys of a few lines; give more memory");
}

KeyOrder opposite(KeyOrder order) {
  for (KeyPart& part : order.parts) part.descending = !part.descending;
  return order;
}

}  // namespace

RunSorter::RunSorter(const KeyOrder& order, bool unique, unsigned threads, std::uint64_t most_lines,
                     std::uint64_t first_row, bool may_exceed)
    : order_(order),
      unique_(unique),
      backwards_(order.reversed && (order.is_whole_line() || order.whole_line_last)),
      threads_(threads),
      most_lines_(most_lines),
      next_row_(first_row),
      may_exceed_(may_exceed) {
  if (backwards_) order_ = opposite(std::move(order_));
}

std::size_t RunSorter::sort(std::span<const std::byte> text, std::uint64_t memory_bytes,
                            const Progress* progress) {
  index_lines(text, memory_bytes, progress);
  if (order_.is_whole_line()) {
    order_by(by_string_, LineKeys(text.data(), places_.starts, places_.extent, {}), progress);
  } else if (has_long_run() || !order_without_keys(progress)) {
    encode_keys(text.data(), memory_bytes, progress);
    order_by_keys(progress);
  }
  if (order_.csv) drop_blank_rows();
  for (const RecordRun& run : line_runs_) next_row_ += run.records;
  if (backwards_) std::reverse(sorted_, sorted_ + count_);
  count_ = std::min(count_, most_lines_);
  add_up_chunks();
  return runs_.empty() ? 0 : runs_.back().first_byte + runs_.back().bytes;
}

// True if a line is longer than a piece: its keys must not be made before they are known to have room.
bool RunSorter::has_long_run() const {
  return std::ranges::any_of(runs_, [](const TextRun& run) { return run.bytes > 2 * cut_bytes; });
}

void RunSorter::order_by_keys(const Progress* progress) {
  if (order_.whole_line_last) return order_by(by_both_, KeyThenLine(keys(), texts()), progress);
  order_by(by_string_,
           LineKeys::encoded(keys_.data(), key_starts_.as_const(),
                             std::min<std::uint64_t>(key_bytes_, keys_.size())),
           progress);
}

// If the entries hold all bits in which keys differ, or nearly all, keys need not be kept. Returns whether
// that is so.
bool RunSorter::order_without_keys(const Progress* progress) {
  if (unique_ || order_.whole_line_last || line_runs_.empty()) return false;
  std::uint64_t lines = 0;
  for (const RecordRun& run : line_runs_) lines += run.records;
  EncodedLines keys(order_, texts());
  try {
    const KeySample sample(keys, line_runs_, lines, bucket_bits_for(lines));
    keys.learn(sample.indices());
    const RecordRun& last = line_runs_.back();
    const auto layout = EntryLayout::for_records(last.first_record + last.records);
    if (!keys.entries_tell(sample.indices(), layout.key_bits())) return false;
    order_by(by_entry_, keys, progress);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::bad_record) find_wrong_line();
    throw;
  }
  return true;
}

// Takes half of the lines as long as there are too many.
void RunSorter::index_lines(std::span<const std::byte> text, std::uint64_t memory_bytes,
                            const Progress* progress) {
  constexpr std::uint64_t many = 1'000'000, key_start_bytes = sizeof(std::uint64_t);
  const std::uint64_t of_line = line_scratch_bytes(many, threads_) / many + key_start_bytes;
  std::uint64_t most_lines = std::clamp(memory_bytes / of_line, many / 64, max_records_in_memory);
  runs_ = cut_text(text, order_, threads_);
  while (true) {
    try {
      if (order_.record_bytes != 0)
        index_.build_records(runs_, order_.record_bytes, threads_, most_lines);
      else
        index_.build(text.data(), runs_, threads_, most_lines, progress, order_.line_end, order_.quote());
      break;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::too_little_memory || most_lines == max_records_in_memory) throw;
      if (runs_.size() > 1) {
        runs_.resize(runs_.size() / 2);
      } else if (const auto half = whole_lines_end(text.first(runs_.front().bytes / 2), order_); half > 0) {
        runs_.front().bytes = half;
      } else if (may_exceed_) {
        most_lines = max_records_in_memory;
      } else {
        throw_too_little();
      }
    }
  }
  line_runs_.assign(index_.lines().begin(), index_.lines().end());
  places_ = {text.data(), index_.starts(), index_.extent(), order_.line_end, order_.end_bytes()};
}

// If even the keys of the first piece have no room, they are refused, or take what they need.
void RunSorter::encode_keys(const std::byte* text, std::uint64_t memory_bytes, const Progress* progress) {
  std::uint64_t lines = 0, most_bytes = 0, longest = 0;
  for (const RecordRun& run : line_runs_) lines += run.records;
  for (const TextRun& run : runs_) longest = std::max(longest, run.bytes);
  for (const KeyPart& part : order_.parts)
    most_bytes +=
        most_encoded_bytes(part.kind, index_.bytes()) + lines * (most_encoded_bytes(part.kind, 0) + 2);
  const std::uint64_t taken = line_scratch_bytes(lines, threads_) + 8 * lines;
  const std::uint64_t left = std::max<std::uint64_t>(memory_bytes - std::min(memory_bytes, taken), cut_bytes);
  const std::uint64_t copies = longest > cut_bytes ? LineLimits::key_copies * index_.bytes() : 0;
  keys_.reserve_discarding(std::min(left, most_bytes + copies + Buffer::huge_page_bytes));
  key_starts_.memory.reserve_discarding((lines + line_runs_.size()) * sizeof(std::uint64_t));
  if (line_runs_.empty()) return;
  encode_runs(text, progress);
  if (!line_runs_.empty()) return;
  if (!may_exceed_) refuse_first_run();
  require_memory(first_key_bytes_);
  runs_.assign(1, first_run_);
  line_runs_.assign(1, index_.lines().front());
  keys_.reserve_discarding(first_key_bytes_);
  encode_runs(text, progress);
}

// Each run of lines is encoded separately, and its keys are then placed; from the first run without room on,
// the rest is postponed.
void RunSorter::encode_runs(const std::byte* text, const Progress* progress) {
  first_run_ = runs_.front();
  key_bytes_ = 0;
  std::uint64_t lines = 0;
  for (const RecordRun& run : line_runs_) lines += run.records;
  std::atomic<std::size_t> first_left{line_runs_.size()}, next{0};
  run_parallel(useful_threads(lines, threads_), [&](unsigned) {
    LineEncoder encoder(order_);
    GrowingBytes keys;
    for (std::size_t run = next++; run < first_left; run = next++) {
      throw_if_cancelled(progress);
      if (encode_run(text, line_runs_[run], encoder, keys)) continue;
      std::size_t seen = first_left;
      while (run < seen && !first_left.compare_exchange_weak(seen, run)) {
      }
    }
  });
  line_runs_.resize(first_left);
  runs_.resize(first_left);
}

// Returns false if there is no room for the keys.
bool RunSorter::encode_run(const std::byte* text, const RecordRun& run, LineEncoder& encoder,
                           GrowingBytes& keys) {
  keys.clear();
  std::uint64_t* const starts = key_starts_.get();
  const StringPlaces lines{text, index_.starts(), order_.end_bytes()};
  const std::uint64_t end = run.first_record + run.records;
  for (std::uint64_t line = run.first_record; line < end; ++line) {
    starts[line] = keys.size();
    try {
      if (!has_room_to_encode(lines[line], encoder)) return false;
      encoder.append(lines[line], keys);
    } catch (const Error& error) {
      fail_at(line, run, error.what());
    }
    std::byte* const behind = keys.room(1);
    *behind = std::byte{0};
    keys.end_at(behind + 1);
  }
  starts[end] = keys.size();
  const std::uint64_t place = key_bytes_.fetch_add(keys.size());
  if (place + keys.size() > keys_.size()) {
    if (run.first_record == 0) first_key_bytes_ = keys.size();
    return false;
  }
  std::memcpy(keys_.data() + place, keys.bytes().data(), keys.size());
  for (std::uint64_t line = run.first_record; line <= end; ++line) starts[line] += place;
  return true;
}

// Intermediate forms of a long line count as if they were kept.
bool RunSorter::has_room_to_encode(std::span<const std::byte> line, LineEncoder& encoder) {
  if (line.size() <= cut_bytes || may_exceed_) return true;
  const std::uint64_t bytes = (LineLimits::key_copies - 1) * encoder.about_key_bytes(line);
  return key_bytes_.fetch_add(bytes) + bytes <= keys_.size();
}

void RunSorter::refuse_first_run() const {
  const RecordRun& run = index_.lines().front();
  LineEncoder encoder(order_);
  for (std::uint64_t line = run.first_record; line < run.first_record + run.records; ++line)
    if (texts()[line].size() > cut_bytes)
      throw KeysTooLong{{places_.starts[line], texts()[line].size(), encoder.about_key_bytes(texts()[line])}};
  throw_too_little();
}

// Among the lines that may exceed the buffer of a stream in a merge.
LongLine RunSorter::heaviest_line() const {
  LineEncoder encoder(order_);
  LongLine heaviest;
  for (const std::uint32_t line : long_lines_) {
    const auto text = texts()[line];
    const LongLine found{places_.starts[line], text.size(), encoder.about_key_bytes(text)};
    if (found.bytes + found.key_bytes > heaviest.bytes + heaviest.key_bytes) heaviest = found;
  }
  return heaviest;
}

// Throws for the first invalid line.
void RunSorter::find_wrong_line() const {
  LineEncoder encoder(order_);
  GrowingBytes key;
  for (const RecordRun& run : line_runs_) {
    for (std::uint64_t line = run.first_record; line < run.first_record + run.records; ++line) {
      key.clear();
      try {
        encoder.append(texts()[line], key);
      } catch (const Error& error) {
        fail_at(line, run, error.what());
      }
    }
  }
}

void RunSorter::fail_at(std::uint64_t line, const RecordRun& run, const std::string& why) const {
  std::uint64_t row = next_row_ + line - run.first_record;
  for (const RecordRun& other : line_runs_)
    if (other.first_record < run.first_record) row += other.records;
  throw Error(ErrorCode::bad_record, "row " + std::to_string(row) + ": " + why);
}

template <typename Keys>
void RunSorter::order_by(Ordering<Keys>& ordering, const Keys& keys, const Progress* progress) {
  ordering.distribute(keys, line_runs_, threads_, progress);
  sorted_ = ordering.order();
  count_ = ordering.records();
  std::vector<std::uint64_t> kept(ordering.buckets());
  for_each_in_parallel(kept.size(), useful_threads(count_, threads_), [&](std::uint64_t bucket) {
    throw_if_cancelled(progress);
    ordering.finish(bucket);
    const std::uint64_t start = ordering.start(bucket), lines = ordering.start(bucket + 1) - start;
    kept[bucket] = unique_ ? keep_first_of_equals({sorted_ + start, lines}) : lines;
  });
  if (!unique_ || count_ == 0) return;
  count_ = 0;
  for (std::size_t bucket = 0; bucket < kept.size(); ++bucket) {
    std::memmove(sorted_ + count_, sorted_ + ordering.start(bucket), kept[bucket] * sizeof *sorted_);
    count_ += kept[bucket];
  }
}

// Equal keys are in one bucket, whose lines are in the cache just after sorting.
std::uint64_t RunSorter::keep_first_of_equals(std::span<std::uint32_t> lines) const {
  const StringPlaces strings = order_.is_whole_line() ? texts() : keys();
  const auto equal = [&](std::uint32_t a, std::uint32_t b) {
    const auto first = strings[a], second = strings[b];
    return first.size() == second.size() && compare_bytes(first, second) == 0;
  };
  return static_cast<std::uint64_t>(std::unique(lines.begin(), lines.end(), equal) - lines.begin());
}

// They come last.
void RunSorter::drop_blank_rows() {
  while (count_ != 0 && order_.csv->is_blank(texts()[sorted_[count_ - 1]])) --count_;
}

void RunSorter::add_up_chunks() {
  constexpr std::uint64_t lines_ahead = 32;
  std::mutex mutex;
  long_lines_.clear();
  const std::uint64_t chunks = (count_ + lines_per_chunk - 1) / lines_per_chunk;
  begins_.assign(chunks + 1, 0);
  for_each_in_parallel(chunks, useful_threads(count_, threads_), [&](std::uint64_t chunk) {
    const std::uint64_t end = std::min(count_, (chunk + 1) * lines_per_chunk);
    std::uint64_t bytes = 0;
    for (std::uint64_t i = chunk * lines_per_chunk; i < end; ++i) {
      if (i + lines_ahead < end) __builtin_prefetch(places_.starts + sorted_[i + lines_ahead]);
      const std::uint64_t of_line = places_.bytes(sorted_[i]);
      bytes += of_line;
      if (of_line < long_line_bytes) continue;
      const std::lock_guard lock(mutex);
      long_lines_.push_back(sorted_[i]);
    }
    begins_[chunk + 1] = bytes;
  });
  for (std::size_t chunk = 0; chunk < chunks; ++chunk) begins_[chunk + 1] += begins_[chunk];
}

void RunSorter::gather(std::uint64_t from, std::span<std::byte> out) const {
  if (out.empty()) return;
  const auto chunk =
      static_cast<std::uint64_t>(std::ranges::upper_bound(begins_, from) - begins_.begin()) - 1;
  const std::uint64_t first = chunk * lines_per_chunk;
  gather_lines(places_, {sorted_ + first, count_ - first}, from - begins_[chunk], out);
}

}  // namespace sortcore
