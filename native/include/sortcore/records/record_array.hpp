// Places of the records of an array, by number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace sortcore {

// Records one after another, or in stretches of memory that begin at equal distances and end with an unused
// rest smaller than a record. There the numbers of a stretch begin at a multiple of a power of two, so that
// no division is needed to find a record; numbers between its last record and the next stretch are unused.
class RecordArray {
 public:
  RecordArray() = default;
  RecordArray(const std::byte* first, std::size_t record_bytes)
      : first_(first), record_bytes_(record_bytes) {}
  // `stretch_bytes` hold at least one record.
  RecordArray(const std::byte* first, std::size_t record_bytes, std::size_t stretch_bytes)
      : first_(first), record_bytes_(record_bytes), numbers_(stretch_bytes / record_bytes) {
    if (stretch_bytes % record_bytes == 0) return;
    shift_ = static_cast<unsigned>(std::bit_width(numbers_ - 1));
    numbers_ = std::uint64_t{1} << shift_;
    gap_bytes_ = stretch_bytes - numbers_ * record_bytes;
  }

  std::size_t record_bytes() const noexcept { return record_bytes_; }
  // True if number times size gives a record's place.
  bool has_no_gaps() const noexcept { return gap_bytes_ == 0; }
  std::uint64_t first_of_stretch(std::uint64_t stretch) const noexcept { return stretch * numbers_; }
  // Bytes from the first record on. If the unused numbers exceed the unused bytes, the gap is negative, and
  // the sum wraps to the correct value.
  std::uint64_t offset(std::uint64_t number) const noexcept {
    return number * record_bytes_ + (number >> shift_) * gap_bytes_;
  }
  const std::byte* record(std::uint64_t number) const noexcept { return first_ + offset(number); }

 private:
  const std::byte* first_ = nullptr;
  std::uint64_t record_bytes_ = 1;
  std::uint64_t numbers_ = 0;  // from one stretch to the next
  unsigned shift_ = 63;
  std::uint64_t gap_bytes_ = 0;
};

}  // namespace sortcore
