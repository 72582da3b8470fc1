// Summaries of records that come in pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "records/key_prefix.hpp"
#include "sortcore/validation/crc32.hpp"
#include "sortcore/validation/validate.hpp"

namespace sortcore {

class SummaryBuilder {
 public:
  explicit SummaryBuilder(const RecordFormat& format);

  // Takes whole records that follow those taken before.
  void add(std::span<const std::byte> records);

  Summary finish() && { return std::move(summary_); }

 private:
  void add_record(const std::byte* record);
  void add_checksum(const std::byte* record);
  void add_suspect(const std::byte* record, std::uint64_t prefix);

  KeyPrefix prefix_;
  Crc32Function crc_;
  Summary summary_;
  const std::byte* before_ = nullptr;
  std::uint64_t before_prefix_ = 0;
};

// Joins one or more parts, in order.
Summary join_summaries(const std::vector<Summary>& parts);

}  // namespace sortcore
