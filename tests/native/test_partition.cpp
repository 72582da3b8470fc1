#include <map>

#include "check.hpp"
#include "shapes.hpp"
#include "sortcore/records/partition.hpp"
#include "sortcore/records/splitters.hpp"

namespace {
using namespace sortcore;
using shapes::Bytes;

Splitters splitters_of(const Bytes& records, const RecordFormat& format, std::size_t partitions) {
  Bytes sample;
  sample_keys(records, format, 500, 1, sample);
  return choose_splitters(sample, format.key_bytes, partitions);
}
}  // namespace

// Grouping and sorting the groups equals sorting; a partition of one key holds one key.
THREADED_TEST(partitions_follow_each_other) {
  RandomSequence random(11);
  for (int round = 0; round < 300; ++round) {
    const RecordFormat format = shapes::random_format(random);
    const Bytes records =
        shapes::random_records(format, random.below(600), shapes::all_keys[round % 9], random);
    const Partitioner partitioner(format, splitters_of(records, format, 1 + random.below(20)));
    Bytes grouped(records.size());
    const std::vector<std::uint64_t> offsets = partitioner.group(records, grouped, 2);
    CHECK_EQUAL(offsets.back() * format.record_bytes, records.size());
    Bytes sorted;
    for (std::size_t p = 0; p < partitioner.partitions(); ++p) {
      const Bytes part(grouped.begin() + static_cast<std::ptrdiff_t>(offsets[p] * format.record_bytes),
                       grouped.begin() + static_cast<std::ptrdiff_t>(offsets[p + 1] * format.record_bytes));
      const Bytes ordered = shapes::expected_sorted(part, format);
      if (partitioner.splitters().holds_one_key(p)) CHECK(ordered == part);
      sorted.insert(sorted.end(), ordered.begin(), ordered.end());
    }
    CHECK(sorted == shapes::expected_sorted(records, format));
  }
}

TEST(partitions_are_about_equal_and_heavy_keys_set_apart) {
  RandomSequence random(12);
  const RecordFormat format;
  const Bytes uniform = shapes::random_records(format, 20'000, shapes::Keys::random, random);
  Bytes sample;
  sample_keys(uniform, format, 4'000, 1, sample);
  const Partitioner partitioner(format, choose_splitters(sample, 10, 10));
  Bytes grouped(uniform.size());
  const auto offsets = partitioner.group(uniform, grouped);
  CHECK_EQUAL(partitioner.partitions(), 10U);
  for (std::size_t p = 0; p < 10; ++p)
    CHECK(offsets[p + 1] - offsets[p] > 1'000 && offsets[p + 1] - offsets[p] < 3'000);
  const Splitters heavy =
      splitters_of(shapes::random_records(format, 5'000, shapes::Keys::mostly_equal, random), format, 10);
  std::size_t of_one_key = 0;
  for (std::size_t p = 0; p < heavy.partitions(); ++p) of_one_key += heavy.holds_one_key(p);
  CHECK_EQUAL(of_one_key, 1U);
}

TEST(splitters_refuse_disorder) {
  const Bytes low(4, std::byte{1}), high(4, std::byte{2});
  Splitters splitters(4);
  splitters.add(high, Splitters::Side::before);
  CHECK_THROWS(bad_input, splitters.add(low, Splitters::Side::before));
  CHECK_THROWS(bad_input, splitters.add(high, Splitters::Side::before));
  CHECK_THROWS(bad_input, splitters.add(std::span(high).first(3), Splitters::Side::after));
  splitters.add(high, Splitters::Side::after);
  CHECK(splitters.holds_one_key(1));
  CHECK_THROWS(bad_input, choose_splitters(low, 4, 0));
  CHECK_THROWS(bad_record, choose_splitters(low, 3, 2));
  CHECK_THROWS(bad_input, Partitioner({.record_bytes = 8, .key_offset = 0, .key_bytes = 5}, splitters));
}

TEST(splitters_are_the_same_after_a_round_trip) {
  RandomSequence random(14);
  for (int round = 0; round < 100; ++round) {
    const RecordFormat format = shapes::random_format(random);
    const Bytes records =
        shapes::random_records(format, 1 + random.below(600), shapes::all_keys[round % 9], random);
    const Splitters before = splitters_of(records, format, 1 + random.below(20));
    const Splitters after = parse_splitters(serialize_splitters(before), format.key_bytes);
    CHECK_EQUAL(after.partitions(), before.partitions());
    for (std::size_t at = 0; at < records.size(); at += format.record_bytes) {
      const std::byte* key = records.data() + at + format.key_offset;
      CHECK_EQUAL(after.partition_of(key), before.partition_of(key));
    }
  }
}

TEST(splitters_that_are_none_are_refused) {
  const Bytes low{std::byte{0}, std::byte{1}}, high{std::byte{0}, std::byte{2}},
      neither{std::byte{2}, std::byte{1}};
  CHECK_EQUAL(parse_splitters({}, 1).partitions(), 1U);
  CHECK_EQUAL(parse_splitters(low, 1).partitions(), 2U);
  CHECK_THROWS(bad_record, parse_splitters(low, 2));
  CHECK_THROWS(bad_record, parse_splitters(low, 0));
  CHECK_THROWS(bad_record, parse_splitters(neither, 1));
  Bytes falling = high;
  falling.insert(falling.end(), low.begin(), low.end());
  CHECK_THROWS(bad_input, parse_splitters(falling, 1));
}
