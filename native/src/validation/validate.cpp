#include "sortcore/validation/validate.hpp"

#include "records/key_prefix.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"
#include "sortcore/validation/crc32.hpp"
#include "validation/summary_builder.hpp"

namespace sortcore {
namespace {

std::vector<std::byte> copy_of(const std::byte* record, std::uint32_t bytes) {
  return {record, record + bytes};
}

}  // namespace

void Summary::append(const Summary& next) {
  if (format != next.format)
    throw Error(ErrorCode::bad_input, "summaries of different record formats cannot be joined");
  if (next.records == 0) return;
  const int order = records == 0 ? -1 : format.compare_keys(last_record.data(), next.first_record.data());
  if (first_unordered == none) {
    if (order > 0) {
      first_unordered = records;
    } else if (next.first_unordered != none) {
      first_unordered = records + next.first_unordered;
    }
  }
  unordered += next.unordered + (order > 0);
  duplicates += next.duplicates + (order == 0);
  checksum += next.checksum;
  if (records == 0) first_record = next.first_record;
  last_record = next.last_record;
  records += next.records;
}

Summary join_summaries(const std::vector<Summary>& parts) {
  Summary whole(parts.front().format);
  for (const Summary& part : parts) whole.append(part);
  return whole;
}

SummaryBuilder::SummaryBuilder(const RecordFormat& format) : prefix_(format), crc_(crc32_function()) {
  format.check();
  summary_.format = format;
}

void SummaryBuilder::add(std::span<const std::byte> records) {
  const RecordFormat& format = summary_.format;
  if (records.empty()) return;
  const std::byte* at = records.data();
  const std::byte* const end = at + records.size();
  if (summary_.records == 0) {
    summary_.first_record = copy_of(at, format.record_bytes);
    add_checksum(at);
    before_ = at;
    at += format.record_bytes;
  } else {
    before_ = summary_.last_record.data();
  }
  before_prefix_ = prefix_.of(before_);
  for (; at != end; at += format.record_bytes) add_record(at);
  summary_.last_record = copy_of(end - format.record_bytes, format.record_bytes);
}

void SummaryBuilder::add_record(const std::byte* record) {
  const std::uint64_t prefix = prefix_.of(record);
  if (prefix <= before_prefix_) add_suspect(record, prefix);
  add_checksum(record);
  before_ = record;
  before_prefix_ = prefix;
}

void SummaryBuilder::add_checksum(const std::byte* record) {
  summary_.checksum += crc_(record, summary_.format.record_bytes);
  ++summary_.records;
}

void SummaryBuilder::add_suspect(const std::byte* record, std::uint64_t prefix) {
  const int order = prefix < before_prefix_ ? 1
                    : prefix_.decides()     ? 0
                                            : summary_.format.compare_keys(before_, record);
  summary_.duplicates += order == 0;
  if (order <= 0) return;
  if (summary_.first_unordered == Summary::none) summary_.first_unordered = summary_.records;
  ++summary_.unordered;
}

Summary validate_records(std::span<const std::byte> records, const RecordFormat& format, unsigned threads) {
  format.check();
  const std::uint64_t count = format.whole_records(records.size());
  threads = resolve_threads(threads);
  std::vector<Summary> parts(threads);
  run_parallel(threads, [&](unsigned index) {
    const Range part = part_of(count, index, threads);
    SummaryBuilder builder(format);
    builder.add(
        records.subspan(part.begin * format.record_bytes, (part.end - part.begin) * format.record_bytes));
    parts[index] = std::move(builder).finish();
  });
  return join_summaries(parts);
}

}  // namespace sortcore
