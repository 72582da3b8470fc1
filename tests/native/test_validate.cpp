#include "check.hpp"
#include "shapes.hpp"
#include "sortcore/validation/validate.hpp"

namespace {
using namespace sortcore;
using shapes::Bytes;

// The definition, one record after another.
Summary expected_summary(const Bytes& records, const RecordFormat& format) {
  Summary summary(format);
  for (std::size_t at = 0; at < records.size(); at += format.record_bytes) {
    const int order = at == 0 ? -1 : format.compare_keys(&records[at - format.record_bytes], &records[at]);
    if (order > 0 && summary.unordered++ == 0) summary.first_unordered = summary.records;
    summary.duplicates += order == 0;
    ++summary.records;
  }
  return summary;
}

void check_counts(const Summary& found, const Summary& expected) {
  CHECK_EQUAL(found.records, expected.records);
  CHECK_EQUAL(found.unordered, expected.unordered);
  CHECK_EQUAL(found.first_unordered, expected.first_unordered);
  CHECK_EQUAL(found.duplicates, expected.duplicates);
}
}  // namespace

THREADED_TEST(validation_counts_by_the_definition_whatever_the_threads) {
  RandomSequence random(31);
  for (int round = 0; round < 500; ++round) {
    const RecordFormat format = shapes::random_format(random);
    const Bytes records =
        shapes::random_records(format, random.below(100), shapes::all_keys[round % 9], random);
    const Summary one = validate_records(records, format, 1);
    check_counts(one, expected_summary(records, format));
    CHECK(validate_records(records, format, 1 + static_cast<unsigned>(random.below(7))) == one);
  }
}

TEST(summaries_of_parts_join_to_that_of_the_whole) {
  RandomSequence random(32);
  for (int round = 0; round < 500; ++round) {
    const RecordFormat format{.record_bytes = 7, .key_offset = 1, .key_bytes = 2};
    const std::uint64_t count = random.below(30);
    const Bytes records = shapes::random_records(format, count, shapes::all_keys[round % 9], random);
    Summary joined(format);
    for (std::uint64_t at = 0; at < count;) {
      const std::uint64_t some = std::min(count - at, random.below(4));
      const Summary part = validate_records(std::span(records).subspan(at * 7, some * 7), format);
      joined.append(parse_summary(serialize_summary(part)));
      at += some;
    }
    CHECK(joined == validate_records(records, format));
  }
  Summary other(RecordFormat{});
  CHECK_THROWS(bad_input, other.append(Summary({.record_bytes = 7, .key_offset = 1, .key_bytes = 2})));
}

TEST(a_damaged_summary_is_refused) {
  RandomSequence random(33);
  const RecordFormat format{.record_bytes = 20, .key_offset = 0, .key_bytes = 4};
  const Bytes stored = serialize_summary(
      validate_records(shapes::random_records(format, 9, shapes::Keys::random, random), format));
  for (std::size_t at = 0; at < stored.size(); ++at) {
    Bytes damaged = stored;
    damaged[at] ^= std::byte{static_cast<unsigned char>(1 + random.below(255))};
    CHECK_THROWS(bad_record, parse_summary(damaged));
    CHECK_THROWS(bad_record, parse_summary(std::span(stored).first(at)));
  }
  Bytes longer = stored;
  longer.push_back(std::byte{0});
  CHECK_THROWS(bad_record, parse_summary(longer));
}
