// Fixed-size records with a byte-string key, compared as unsigned bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace sortcore {

// The default is the sort benchmark's: 100 bytes, the key in the first ten.
struct RecordFormat {
  std::uint32_t record_bytes = 100;
  std::uint32_t key_offset = 0;
  std::uint32_t key_bytes = 10;

  // Throws Error(bad_input) unless the record is at least one byte and the key lies within it.
  void check() const;

  // The number of records in `bytes`; throws Error(bad_record), naming `path`, unless it is whole.
  std::uint64_t whole_records(std::uint64_t bytes, const std::string& path = {}) const;

  // < 0, 0, > 0 as the key of record `a` is below, equal to, above that of `b`.
  int compare_keys(const std::byte* a, const std::byte* b) const noexcept {
    return std::memcmp(a + key_offset, b + key_offset, key_bytes);
  }

  friend bool operator==(const RecordFormat&, const RecordFormat&) = default;
};

}  // namespace sortcore
