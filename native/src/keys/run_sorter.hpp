// Sorting the lines of one text by their keys in memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "keys/encoded_lines.hpp"
#include "keys/key_then_line.hpp"
#include "keys/text_memory.hpp"
#include "lines/line_gather.hpp"
#include "lines/line_index.hpp"
#include "lines/line_keys.hpp"
#include "records/ordering.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/keys/key_order.hpp"
#include "sortcore/keys/line_encoder.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

// Thrown for a long line whose keys have no room next to the text, with its place; no memory was taken for
// them.
struct KeysTooLong {
  LongLine line;
};

// Equal keys keep their order. An order that is reversed as a whole is sorted in the opposite order and read
// backwards.
class RunSorter {
 public:
  // With `unique` the first of lines with equal keys is kept; in the end the first `most_lines` of all.
  // `may_exceed` allows the keys of a long line to take more than the available memory.
  RunSorter(const KeyOrder& order, bool unique, unsigned threads, std::uint64_t most_lines = UINT64_MAX,
            std::uint64_t first_row = 1, bool may_exceed = false);

  // Sorts whole lines from the beginning of `text`, whose last may lack its end: all, or as many as fit into
  // `memory_bytes` next to the text. Returns their bytes. `text` must stay until the last `gather`. Throws
  // Error(too_little_memory) if that is not even a few lines, KeysTooLong for a longer line,
  // Error(bad_record) for a row of CSV by its number, from `first_row` on over all calls.
  std::size_t sort(std::span<const std::byte> text, std::uint64_t memory_bytes, const Progress* progress);

  std::uint64_t lines() const noexcept { return count_; }
  // Size of the sorted lines, each with its end.
  std::uint64_t bytes() const noexcept { return begins_.empty() ? 0 : begins_.back(); }
  // Fills `out` with the sorted text from byte `from` on; threads may call at once.
  void gather(std::uint64_t from, std::span<std::byte> out) const;
  // Of the sorted lines of a quarter of a megabyte and more the one that takes most memory in a merge; of
  // zero bytes if there is none.
  LongLine heaviest_line() const;

 private:
  static constexpr std::uint64_t lines_per_chunk = 4096, long_line_bytes = 1 << 18;

  void index_lines(std::span<const std::byte> text, std::uint64_t memory_bytes, const Progress* progress);
  void encode_keys(const std::byte* text, std::uint64_t memory_bytes, const Progress* progress);
  void order_by_keys(const Progress* progress);
  bool order_without_keys(const Progress* progress);
  void encode_runs(const std::byte* text, const Progress* progress);
  bool has_long_run() const;
  bool has_room_to_encode(std::span<const std::byte> line, LineEncoder& encoder);
  [[noreturn]] void refuse_first_run() const;
  bool encode_run(const std::byte* text, const RecordRun& run, LineEncoder& encoder, GrowingBytes& keys);
  void find_wrong_line() const;
  [[noreturn]] void fail_at(std::uint64_t line, const RecordRun& run, const std::string& why) const;
  template <typename Keys>
  void order_by(Ordering<Keys>& ordering, const Keys& keys, const Progress* progress);
  std::uint64_t keep_first_of_equals(std::span<std::uint32_t> lines) const;
  void drop_blank_rows();
  void add_up_chunks();
  StringPlaces texts() const noexcept { return {places_.base, places_.starts, order_.end_bytes()}; }
  StringPlaces keys() const noexcept { return {keys_.data(), key_starts_.as_const()}; }

  struct Starts {
    Buffer memory;
    std::uint64_t* get() noexcept { return memory.as<std::uint64_t>(); }
    const std::uint64_t* as_const() const noexcept {
      return reinterpret_cast<const std::uint64_t*>(memory.data());
    }
  };

  KeyOrder order_;
  bool unique_;
  bool backwards_;
  unsigned threads_;
  std::uint64_t most_lines_;
  std::uint64_t next_row_;
  bool may_exceed_;
  std::vector<TextRun> runs_;
  LineIndex index_;
  std::vector<RecordRun> line_runs_;
  Buffer keys_;
  Starts key_starts_;
  std::atomic<std::uint64_t> key_bytes_{0};
  TextRun first_run_{};
  std::uint64_t first_key_bytes_ = 0;  // of that line, if there was no room for them
  LinePlaces places_{};
  Ordering<LineKeys> by_string_;  // whole lines, or keys alone
  Ordering<KeyThenLine> by_both_;
  Ordering<EncodedLines> by_entry_;  // keys that entries distinguish nearly completely
  std::uint32_t* sorted_ = nullptr;
  std::uint64_t count_ = 0;
  std::vector<std::uint32_t> long_lines_;
  std::vector<std::uint64_t> begins_;  // of each chunk of lines in the sorted text
};

}  // namespace sortcore
