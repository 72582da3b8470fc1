#include "sortcore/records/merge.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "records/key_prefix.hpp"
#include "sortcore/error.hpp"
#include "sortcore/records/splitters.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

using Run = std::span<const std::byte>;

// The next record of a run in a merge. A finished run comes after all others.
struct Head {
  std::uint64_t prefix;
  const std::byte* record;
  const std::byte* end;
  std::size_t run;
};

// A tournament of runs: each inner node stores the loser, the winner stands at the top.
class SortedRunMerger {
 public:
  SortedRunMerger(const std::vector<Run>& runs, const RecordFormat& format)
      : format_(format), prefix_(format) {
    for (const Run& run : runs) heads_.push_back(head_of(run, heads_.size()));
    losers_.resize(heads_.size());
    winner_ = play(1);
  }

  void merge(std::byte* out, std::byte* end) {
    for (; out != end; out += format_.record_bytes) {
      Head& head = heads_[winner_];
      std::memcpy(out, head.record, format_.record_bytes);
      head.record += format_.record_bytes;
      if (head.record != head.end) head.prefix = prefix_.of(head.record);
      replay();
    }
  }

 private:
  Head head_of(Run run, std::size_t number) const {
    const std::byte* end = run.data() + run.size();
    return {run.empty() ? 0 : prefix_.of(run.data()), run.data(), end, number};
  }
  bool comes_first(std::size_t a, std::size_t b) const {
    const Head &x = heads_[a], &y = heads_[b];
    if (x.record == x.end || y.record == y.end) return y.record == y.end && (x.record != x.end || a < b);
    if (x.prefix != y.prefix) return x.prefix < y.prefix;
    const int order = prefix_.decides() ? 0 : format_.compare_keys(x.record, y.record);
    return order != 0 ? order < 0 : a < b;
  }
  // Node i has children 2 i and 2 i + 1; runs are the nodes from heads_.size() on.
  std::size_t play(std::size_t node) {
    if (node >= heads_.size()) return node - heads_.size();
    const std::size_t left = play(2 * node), right = play(2 * node + 1);
    const bool left_wins = comes_first(left, right);
    losers_[node] = left_wins ? right : left;
    return left_wins ? left : right;
  }
  void replay() {
    for (std::size_t node = (winner_ + heads_.size()) / 2; node != 0; node /= 2) {
      if (comes_first(losers_[node], winner_)) std::swap(losers_[node], winner_);
    }
  }

  const RecordFormat& format_;
  KeyPrefix prefix_;
  std::vector<Head> heads_;
  std::vector<std::size_t> losers_;
  std::size_t winner_ = 0;
};

std::uint64_t check_sizes(std::span<const Run> runs, std::span<std::byte> out, const RecordFormat& format) {
  format.check();
  std::uint64_t bytes = 0;
  for (const Run& run : runs) {
    format.whole_records(run.size());
    bytes += run.size();
  }
  if (bytes != out.size()) {
    throw Error(ErrorCode::bad_input, "the runs hold " + std::to_string(bytes) + " bytes and the output " +
                                          std::to_string(out.size()));
  }
  return bytes / format.record_bytes;
}

// Cuts of all runs at the same keys, so that the pieces between can be merged at once.
class Cuts {
 public:
  Cuts(std::span<const Run> runs, const RecordFormat& format, std::size_t pieces)
      : runs_(runs), format_(format) {
    std::vector<std::byte> sample;
    constexpr std::size_t keys_per_piece = 64;
    for (const Run& run : runs)
      sample_keys(run, format, pieces * keys_per_piece / runs.size() + 1, 1, sample);
    const Splitters splitters = choose_splitters(sample, format.key_bytes, pieces);
    pieces_ = splitters.partitions();
    for (const Run& run : runs) {
      for (std::size_t i = 0; i < splitters.boundaries(); ++i)
        records_.push_back(records_below(run, splitters, i));
      records_.push_back(run.size() / format.record_bytes);
    }
  }
  std::size_t pieces() const { return pieces_; }
  std::vector<Run> piece(std::size_t number) const {
    std::vector<Run> result;
    for (std::size_t run = 0; run < runs_.size(); ++run) {
      const std::uint64_t begin = cut(run, number), end = cut(run, number + 1);
      result.push_back(
          runs_[run].subspan(begin * format_.record_bytes, (end - begin) * format_.record_bytes));
    }
    return result;
  }
  std::uint64_t offset_bytes(std::size_t number) const {
    std::uint64_t records = 0;
    for (std::size_t run = 0; run < runs_.size(); ++run) records += cut(run, number);
    return records * format_.record_bytes;
  }

 private:
  std::uint64_t cut(std::size_t run, std::size_t number) const {
    return number == 0 ? 0 : records_[run * pieces_ + number - 1];
  }
  std::uint64_t records_below(Run run, const Splitters& splitters, std::size_t boundary) const {
    std::uint64_t low = 0, high = run.size() / format_.record_bytes;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      const std::byte* key = run.data() + middle * format_.record_bytes + format_.key_offset;
      if (splitters.is_above(key, boundary)) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }

  std::span<const Run> runs_;
  const RecordFormat& format_;
  std::size_t pieces_ = 1;
  std::vector<std::uint64_t> records_;  // for each run the records below each cut, then all
};

void merge_piece(const std::vector<Run>& runs, std::byte* out, std::byte* end, const RecordFormat& format,
                 Progress* progress) {
  constexpr std::size_t records_between_polls = 1 << 14;
  SortedRunMerger merger(runs, format);
  while (out != end) {
    throw_if_cancelled(progress);
    const auto left = static_cast<std::size_t>(end - out);
    std::byte* const stop = out + std::min(left, records_between_polls * format.record_bytes);
    merger.merge(out, stop);
    add_progress(progress, static_cast<std::uint64_t>(stop - out));
    out = stop;
  }
}

}  // namespace

void merge_runs(std::span<const Run> runs, std::span<std::byte> out, const RecordFormat& format,
                unsigned threads, Progress* progress) {
  const std::uint64_t records = check_sizes(runs, out, format);
  if (progress != nullptr) progress->begin_phase(0, out.size());
  if (records == 0) return;
  threads = resolve_threads(threads);
  constexpr std::size_t pieces_per_thread = 4;
  const Cuts cuts(runs, format, threads == 1 ? 1 : pieces_per_thread * threads);
  std::atomic<std::size_t> next{0};
  run_parallel(threads, [&](unsigned) {
    for (std::size_t piece = next++; piece < cuts.pieces(); piece = next++) {
      std::byte* const end =
          piece + 1 == cuts.pieces() ? out.data() + out.size() : out.data() + cuts.offset_bytes(piece + 1);
      merge_piece(cuts.piece(piece), out.data() + cuts.offset_bytes(piece), end, format, progress);
    }
  });
}

}  // namespace sortcore
