// Entries, which are sorted instead of the records: 64-bit integers with key bits above and the record's
// index below.
//
// Within its bucket an entry needs only the bits in which the bucket's keys differ, so that eight bytes are
// enough for nearly all keys. The index makes all entries different and the sort stable.
#pragma once

#include <bit>
#include <cstdint>

namespace sortcore {

using Entry = std::uint64_t;

// The division of an entry into key and index.
struct EntryLayout {
  unsigned index_bits = 1;

  static EntryLayout for_records(std::uint64_t count) {
    return {count <= 2 ? 1U : static_cast<unsigned>(std::bit_width(count - 1))};
  }
  unsigned key_bits() const noexcept { return 64 - index_bits; }
  Entry index_mask() const noexcept { return (Entry{1} << index_bits) - 1; }
  std::uint32_t index_of(Entry entry) const noexcept {
    return static_cast<std::uint32_t>(entry & index_mask());
  }
  std::uint64_t key_of(Entry entry) const noexcept { return entry >> index_bits; }
};

}  // namespace sortcore
