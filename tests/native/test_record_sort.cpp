#include "check.hpp"
#include "shapes.hpp"
#include "sortcore/records/record_sort.hpp"
#include "sortcore/threads.hpp"

namespace {
using namespace sortcore;
using shapes::Bytes;

constexpr std::uint64_t record_effort = check::sanitized ? 1 : 20;

std::uint64_t random_count(RandomSequence& random) {
  constexpr std::uint64_t sizes[] = {0, 1, 2, 3, 15, 16, 17, 48, 49, 50, 127, 128, 129, 1000, 4097};
  return random.below(2) == 0 ? sizes[random.below(std::size(sizes))] : random.below(300);
}

void check_record_sort(const Bytes& records, const RecordFormat& format, unsigned threads) {
  const Bytes expected = shapes::expected_sorted(records, format);
  Bytes out(records.size());
  sort_records(records, out, format, threads);
  CHECK(out == expected);
  ++check::cases();
}
}  // namespace

TEST(sort_random_shapes_as_the_standard_library_does) {
  RandomSequence random(1);
  for (std::uint64_t round = 0; round < 1000 * record_effort * check::effort(); ++round) {
    const RecordFormat format = shapes::random_format(random);
    const shapes::Keys kind = shapes::all_keys[random.below(std::size(shapes::all_keys))];
    const std::uint64_t count = format.record_bytes > 100 ? random.below(200) : random_count(random);
    check_record_sort(shapes::random_records(format, count, kind, random), format, 1);
  }
}

// Enough records for buckets, blocks that fill, and threads that share them.
THREADED_TEST(sort_many_records_with_threads) {
  constexpr RecordFormat formats[] = {{100, 0, 10}, {16, 3, 8}, {24, 1, 20}, {5, 2, 1}};
  RandomSequence random(2);
  std::uint64_t turn = 0;
  for (const shapes::Keys kind : shapes::all_keys) {
    for (const RecordFormat& format : formats) {
      if (check::leaves_out(turn++, 3, 12)) continue;
      check_record_sort(shapes::random_records(format, 70'001 + random.below(20'000), kind, random), format,
                        3);
    }
  }
}

// A key shared by half of the records except for its last bytes: the entries of its bucket do not tell the
// records apart.
THREADED_TEST(sort_large_buckets) {
  RandomSequence random(3);
  std::uint64_t turn = 0;
  for (const std::uint32_t key_bytes : {9U, 10U, 16U, 30U}) {
    if (check::leaves_out(turn++, 1, 2)) continue;
    const RecordFormat format{.record_bytes = 32, .key_offset = 1, .key_bytes = key_bytes};
    Bytes records =
        shapes::random_records(format, check::sanitized ? 80'000 : 200'000, shapes::Keys::random, random);
    for (std::size_t i = 0; i < records.size(); i += 2 * 32) std::fill_n(&records[i + 1], 8, std::byte{0x55});
    check_record_sort(records, format, 2);
  }
}

// The sample sees a common beginning that one record lacks.
THREADED_TEST(sort_when_the_sample_misleads) {
  RandomSequence random(4);
  const RecordFormat format{.record_bytes = 40, .key_offset = 0, .key_bytes = 40};
  Bytes records = shapes::random_records(format, 50'000, shapes::Keys::shared_beginning, random);
  records[40 * 31'337 + 5] = std::byte{0};
  check_record_sort(records, format, 2);
  records[40 * 44'444] = std::byte{0xff};
  check_record_sort(records, format, 2);
}

// Keys with another beginning have the least or the greatest windows, which others have, too: some keys go on
// with zeros or ones, and all have few distinct bytes, so that ties are common.
THREADED_TEST(sort_when_some_keys_begin_otherwise) {
  constexpr std::uint64_t one_in[] = {20'000, 1'000, 300, 20};
  RandomSequence random(8);
  std::uint64_t turn = 0;
  for (const std::uint32_t key_bytes : {9U, 10U, 16U, 17U, 24U, 25U, 30U}) {
    for (const std::uint64_t rarely : one_in) {
      if (check::leaves_out(turn++, 3, 9)) continue;
      const RecordFormat format{.record_bytes = 33, .key_offset = 2, .key_bytes = key_bytes};
      Bytes records = shapes::random_records(format, 60'000, shapes::Keys::random, random);
      for (std::size_t at = 2; at < records.size(); at += 33) {
        const std::size_t common = key_bytes - 1 - random.below(8);
        std::fill_n(&records[at], common, std::byte{0x55});
        const std::uint64_t ending = random.below(4);
        if (ending < 2)
          std::fill_n(&records[at + common], key_bytes - common,
                      ending == 0 ? std::byte{0} : std::byte{0xff});
        if (random.below(rarely) == 0)
          records[at + random.below(key_bytes)] = static_cast<std::byte>(random.next());
      }
      check_record_sort(records, format, 2);
    }
  }
}

// Nearly all keys are equal, and continue like the least or the greatest window.
THREADED_TEST(sort_equal_keys_and_a_few_others) {
  RandomSequence random(9);
  for (const std::byte ending : {std::byte{0}, std::byte{0x55}, std::byte{0xff}}) {
    const RecordFormat format{.record_bytes = 33, .key_offset = 0, .key_bytes = 28};
    Bytes records = shapes::random_records(format, 50'000, shapes::Keys::random, random);
    for (std::size_t at = 0; at < records.size(); at += 33) {
      std::fill_n(&records[at], 28, std::byte{0x55});
      std::fill_n(&records[at + 18], 10, ending);
      if (random.below(2'000) == 0) records[at + random.below(28)] = static_cast<std::byte>(random.next());
    }
    check_record_sort(records, format, 2);
  }
}

THREADED_TEST(one_sorter_sorts_again_and_gathers_in_pieces) {
  RandomSequence random(5);
  const RecordFormat format;
  KeySorter sorter(format, 2);
  for (const std::uint64_t count : {90'000ULL, 10ULL, 0ULL, 120'001ULL}) {
    const Bytes records = shapes::random_records(format, count, shapes::Keys::few, random);
    const Bytes expected = shapes::expected_sorted(records, format);
    sorter.sort(records);
    CHECK_EQUAL(sorter.records(), count);
    Bytes out(records.size());
    run_parallel(3, [&](unsigned index) {
      const Range part = part_of(count, index, 3);
      const std::span<std::byte> to(out);
      sorter.gather(part.begin, to.subspan(part.begin * 100, (part.end - part.begin) * 100));
    });
    CHECK(out == expected);
    const std::span<const std::uint32_t> order = sorter.order();
    CHECK(std::ranges::equal(order, shapes::expected_order(records, format)));
    Bytes beyond(100);
    CHECK_THROWS(bad_input, sorter.gather(count, beyond));
  }
}

THREADED_TEST(sort_runs_of_one_array) {
  RandomSequence random(6);
  const RecordFormat format{.record_bytes = 12, .key_offset = 2, .key_bytes = 9};
  const Bytes records = shapes::random_records(format, 100'000, shapes::Keys::low_bits, random);
  const RecordRun runs[] = {{10, 5'000}, {20'000, 0}, {30'000, 60'000}, {99'999, 1}};
  Bytes chosen;
  for (const RecordRun& run : runs) {
    const auto from = records.begin() + static_cast<std::ptrdiff_t>(run.first_record * 12);
    chosen.insert(chosen.end(), from, from + static_cast<std::ptrdiff_t>(run.records * 12));
  }
  KeySorter sorter(format, 2);
  sorter.sort(records.data(), runs);
  Bytes out(chosen.size());
  sorter.gather_all(out);
  CHECK(out == shapes::expected_sorted(chosen, format));
}

// Like chunks of memory: whole records, and some bytes more.
THREADED_TEST(sort_runs_of_stretches_and_gather_any_bytes) {
  RandomSequence random(10);
  for (std::uint64_t round = 0; round < 60 * record_effort; ++round) {
    const RecordFormat format = shapes::random_format(random);
    const std::size_t most = 1 + random.below(200), spare = random.below(2 * format.record_bytes);
    const std::size_t stretch_bytes = most * format.record_bytes + spare;
    Bytes memory(stretch_bytes * (1 + random.below(12)));
    const RecordArray array(memory.data(), format.record_bytes, stretch_bytes);
    std::vector<RecordRun> runs;
    Bytes records;
    for (std::size_t stretch = 0; stretch * stretch_bytes < memory.size(); ++stretch) {
      const std::uint64_t count = random.below(stretch_bytes / format.record_bytes + 1);
      const Bytes run = shapes::random_records(format, count, shapes::all_keys[round % 9], random);
      std::ranges::copy(run, memory.begin() + static_cast<std::ptrdiff_t>(stretch * stretch_bytes));
      records.insert(records.end(), run.begin(), run.end());
      if (count > 0) runs.push_back({array.first_of_stretch(stretch), count});
    }
    KeySorter sorter(format, 2);
    sorter.sort(array, runs);
    CHECK_EQUAL(sorter.records() * format.record_bytes, records.size());
    Bytes out(records.size());
    for (std::size_t from = 0, bytes = 0; from < out.size(); from += bytes) {
      bytes = std::min<std::size_t>(out.size() - from, 1 + random.below(5 * format.record_bytes));
      sorter.gather_bytes(from, std::span(out).subspan(from, bytes));
    }
    CHECK(out == shapes::expected_sorted(records, format));
  }
}

TEST(sort_refuses_what_cannot_be) {
  Bytes bytes(250), out(250);
  CHECK_THROWS(bad_record, sort_records(bytes, out, RecordFormat{}));
  CHECK_THROWS(bad_input,
               sort_records(std::span(bytes).first(200), std::span(out).first(100), RecordFormat{}));
  CHECK_THROWS(bad_input, KeySorter({.record_bytes = 10, .key_offset = 5, .key_bytes = 6}));
  CHECK_THROWS(bad_input, KeySorter({.record_bytes = 0, .key_offset = 0, .key_bytes = 0}));
  Progress progress;
  progress.cancel();
  CHECK_THROWS(cancelled, sort_records(std::span(bytes).first(200), std::span(out).first(200), RecordFormat{},
                                       1, &progress));
}
