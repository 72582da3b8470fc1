// Summaries of records, as valsort reports them: whether they are in order, how many repeat a key, and an
// order-independent checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sortcore/progress.hpp"
#include "sortcore/records/record_format.hpp"
#include "sortcore/u128.hpp"

namespace sortcore {

// Summary of consecutive records. Summaries of parts are joined in order, and each seam is checked like any
// other pair of neighbours.
struct Summary {
  static constexpr std::uint64_t none = UINT64_MAX;

  Summary() = default;
  explicit Summary(const RecordFormat& record_format) : format(record_format) {}

  RecordFormat format;
  std::uint64_t records = 0;
  std::uint64_t unordered = 0;           // records smaller than their predecessor
  std::uint64_t first_unordered = none;  // the first such, counted from 0
  std::uint64_t duplicates = 0;          // records with their predecessor's key
  U128 checksum = 0;                     // sum of the records' CRC-32; does not depend on their order
  std::vector<std::byte> first_record;   // empty when there are no records
  std::vector<std::byte> last_record;

  // Joins the summary of the records that follow. Throws Error(bad_input) if its format differs.
  void append(const Summary& next);

  friend bool operator==(const Summary&, const Summary&) = default;
};

// Throws Error(bad_record) for half a record.
Summary validate_records(std::span<const std::byte> records, const RecordFormat& format,
                         unsigned threads = 1);

// The records of a file, read once by `threads` threads (0: all available) in parts, with some megabytes of
// memory each. Adds to progress the bytes read; begins no phase, so that several files can share one. Throws
// Error(bad_record) for half a record, Error(io) naming path and offset, also when the file shrinks
// meanwhile.
Summary validate_file(const std::string& path, const RecordFormat& format, unsigned threads = 0,
                      Progress* progress = nullptr);

// A summary as bytes, to be stored with its part; `parse_summary` takes any bytes and throws
// Error(bad_record), naming `path`, unless they are exactly a summary.
std::vector<std::byte> serialize_summary(const Summary& summary);
Summary parse_summary(std::span<const std::byte> bytes, const std::string& path = {});

}  // namespace sortcore
