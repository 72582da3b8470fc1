// The first eight bytes of a record's key as an integer that compares as the bytes do.
#pragma once

#include <cstdint>

#include "bytes.hpp"
#include "sortcore/records/record_format.hpp"

namespace sortcore {

class KeyPrefix {
 public:
  explicit KeyPrefix(const RecordFormat& format)
      : offset_(format.key_offset),
        bytes_(format.key_bytes < 8 ? format.key_bytes : 8),
        mask_(bytes_ == 8 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} >> (8 * bytes_))),
        whole_(format.record_bytes - format.key_offset >= 8),
        decides_(format.key_bytes <= 8) {}

  std::uint64_t of(const std::byte* record) const noexcept {
    return whole_ ? load_big_endian(record + offset_) & mask_ : load_big_endian(record + offset_, bytes_);
  }
  // True when equal prefixes mean equal keys.
  bool decides() const noexcept { return decides_; }

 private:
  std::uint32_t offset_;
  std::uint32_t bytes_;
  std::uint64_t mask_;
  bool whole_;  // eight bytes can be loaded within the record
  bool decides_;
};

}  // namespace sortcore
