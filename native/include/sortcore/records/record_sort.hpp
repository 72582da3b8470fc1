// Sorting a buffer of fixed records in memory.
//
// The sort is always stable: the index of a record is part of its sort entry, so that ties cost nothing to
// break.
//
// KeySorter works in two steps, so that a file pipeline can write the first sorted records while the rest are
// still unsorted: `sort` reads the keys once and distributes them over buckets; `gather` finishes the buckets
// it needs and copies records out in order. Scratch memory is kept and reused by the next `sort`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "sortcore/progress.hpp"
#include "sortcore/records/record_array.hpp"
#include "sortcore/records/record_format.hpp"

namespace sortcore {

// One KeySorter takes at most this many records at a time.
inline constexpr std::uint64_t max_records_in_memory = 0xffff'fffe;

// Bytes of scratch that a KeySorter may need for this many records, in addition to input and output: about 12
// bytes a record and work space of the threads.
std::uint64_t scratch_bytes(std::uint64_t records, unsigned threads);

// Records first_record .. first_record + records - 1 of an array.
struct RecordRun {
  std::uint64_t first_record;
  std::uint64_t records;
};

class KeySorter {
 public:
  // `threads` 0 means all available. Throws Error(bad_input) for an impossible format.
  explicit KeySorter(const RecordFormat& format, unsigned threads = 0);
  ~KeySorter();
  KeySorter(KeySorter&&) noexcept;
  KeySorter& operator=(KeySorter&&) noexcept;

  // Step one, on this sorter's threads: `input` (whole records) must stay unchanged until the last `gather`.
  // Throws Error(bad_record) for half a record, Error(bad_input) above `max_records_in_memory`.
  void sort(std::span<const std::byte> input, Progress* progress = nullptr);

  // The same for records in several `runs` of one array at `base` (the file half's chunks of memory). Sorted
  // are indices into that array, so `order` and `gather` refer to it. No run may reach beyond record
  // `max_records_in_memory` of the array. Equal keys come in the order of their indices.
  void sort(const std::byte* base, std::span<const RecordRun> runs, Progress* progress = nullptr);
  // The same with an array whose stretches may end with unused bytes.
  void sort(const RecordArray& records, std::span<const RecordRun> runs, Progress* progress = nullptr);

  std::uint64_t records() const noexcept;

  // Step two: writes the sorted records first_record, first_record + 1, ... until `out` (whole records) is
  // full. It works on the calling thread; several threads may gather at once. `out` must not overlap the
  // input. Throws Error(bad_input) beyond the last record.
  void gather(std::uint64_t first_record, std::span<std::byte> out) const;

  // The same for any bytes of the sorted records, from byte `from` on: the first record and the last may be
  // cut.
  void gather_bytes(std::uint64_t from, std::span<std::byte> out) const;

  // Step two for all records at once, on this sorter's threads, past the cache; progress counts the bytes.
  void gather_all(std::span<std::byte> out, Progress* progress = nullptr) const;

  // Input indices in sorted order: order[i] is the input position of sorted record i. Finishes all buckets on
  // this sorter's threads; valid until the next `sort`.
  std::span<const std::uint32_t> order() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Sorts `in` into `out` (of the same size, not overlapping) with the sorter's threads; progress counts
// gathered bytes.
void sort_records(std::span<const std::byte> in, std::span<std::byte> out, KeySorter& sorter,
                  Progress* progress = nullptr);
void sort_records(std::span<const std::byte> in, std::span<std::byte> out, const RecordFormat& format,
                  unsigned threads = 0, Progress* progress = nullptr);

}  // namespace sortcore
