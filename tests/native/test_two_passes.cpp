// The two passes on files in a temporary directory.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "check.hpp"
#include "shapes.hpp"
#include "sortcore/external/sort_files.hpp"
#include "sortcore/external/two_passes.hpp"
#include "sortcore/validation/validate.hpp"
#include "temporary_directory.hpp"

namespace {
using namespace sortcore;
using shapes::Bytes;
namespace fs = std::filesystem;

constexpr std::uint64_t usual_rounds = check::only_threaded ? 12 : check::sanitized ? 40 : 160;

void write(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

Bytes read(const std::string& path) {
  Bytes bytes(fs::file_size(path));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// An unstable sort may exchange records with equal keys.
bool same_records(const Bytes& found, const Bytes& expected, const RecordFormat& format) {
  if (check::sanitized)
    return validate_records(found, format).checksum == validate_records(expected, format).checksum;
  const auto sorted_whole = [&](const Bytes& records) {
    return shapes::expected_sorted(records, {format.record_bytes, 0, format.record_bytes});
  };
  return found.size() == expected.size() && sorted_whole(found) == sorted_whole(expected);
}

void check_order(const Bytes& found, const RecordFormat& format) {
  for (std::size_t at = format.record_bytes; at < found.size(); at += format.record_bytes)
    CHECK(format.compare_keys(&found[at - format.record_bytes], &found[at]) <= 0);
}

// A stable sort has one right answer.
void check_sorted(const Bytes& found, const Bytes& records, const RecordFormat& format, bool stable) {
  if (stable) {
    CHECK(found == shapes::expected_sorted(records, format));
  } else {
    check_order(found, format);
    CHECK(same_records(found, records, format));
  }
}

SortFilesRequest two_pass_request(const TemporaryDirectory& directory, RandomSequence& random) {
  SortFilesRequest request;
  request.inputs = {directory / "in"};
  request.outputs = {directory / "out"};
  request.passes = SortFilesRequest::Passes::two;
  request.threads = static_cast<unsigned>(1 + random.below(3));
  request.queue_depth = static_cast<unsigned>(1 + random.below(4));
  request.allow_direct = random.below(2) == 0;
  request.spill = static_cast<Spill>(random.below(3));
  return request;
}

// A source whose sample covers only the beginning of the input.
class Misleading : public FilesSource {
 public:
  using FilesSource::FilesSource;
  std::uint64_t sample(std::size_t count, const BlockSource::Visit& visit) override {
    bool first = true;
    return FilesSource::sample(count, [&](std::span<const std::byte> part, std::size_t) {
      if (std::exchange(first, false)) visit(part, 64);
    });
  }
};

SortReport sort_misled(const TemporaryDirectory& directory, const RecordFormat& format,
                       const ExternalPlan& plan) {
  File input = File::open_to_read(directory / "in", File::Caching::buffered);
  SortReport report;
  report.input_bytes = input.size();
  std::vector<OutputFile> outputs;
  outputs.emplace_back(directory / "out", File::Caching::buffered);
  ScratchFiles scratch({directory.path()}, File::Caching::buffered);
  Misleading source({InputFile{&input, input.size()}}, format, plan);
  sort_in_two_passes(source, format, outputs, scratch, plan, nullptr, report);
  outputs.front().commit();
  return report;
}

PlanRequest small_plan(std::uint64_t input_bytes, bool stable) {
  PlanRequest request;
  request.input_bytes = input_bytes;
  request.memory_bytes = 12'000'000;
  request.threads = 2;
  request.stable = stable;
  return request;
}
}  // namespace

THREADED_TEST(two_passes_sort_random_shapes) {
  RandomSequence random(41);
  for (std::uint64_t round = 0; round < usual_rounds * check::effort(); ++round) {
    const TemporaryDirectory directory;
    const RecordFormat format = shapes::random_format(random);
    const Bytes records =
        shapes::random_records(format, random.below(2'000), shapes::all_keys[round % 9], random);
    write(directory / "in", records);
    SortFilesRequest request = two_pass_request(directory, random);
    request.format = format;
    request.memory_bytes = 64'000'000;
    request.stable = random.below(2) == 0;
    const SortReport report = sort_files(request);
    CHECK_EQUAL(report.records, records.size() / format.record_bytes);
    CHECK_EQUAL(directory.files(), 2U);
    ++check::cases();
    check_sorted(read(directory / "out"), records, format, request.stable);
  }
}

// More than memory holds, so that chunks go to disk and come back.
THREADED_TEST(spilled_records_come_back) {
  RandomSequence random(43);
  const RecordFormat format;
  for (const shapes::Keys kind : {shapes::Keys::random, shapes::Keys::few, shapes::Keys::mostly_equal}) {
    for (const bool stable : {false, true}) {
      if (check::sanitized && stable != (kind == shapes::Keys::few)) continue;
      const TemporaryDirectory directory;
      const Bytes records =
          shapes::random_records(format, check::sanitized ? 140'000 : 200'000, kind, random);
      write(directory / "in", records);
      SortFilesRequest request = two_pass_request(directory, random);
      request.memory_bytes = 12'000'000;
      request.threads = 2;
      request.queue_depth = 2;
      request.stable = stable;
      const SortReport report = sort_files(request);
      CHECK(report.temporary_bytes_written > 4'000'000);
      CHECK_EQUAL(report.temporary_bytes_written, report.temporary_bytes_read);
      check_sorted(read(directory / "out"), records, format, stable);
    }
  }
}

// Records whose blocks do not align with pages: chunks are padded, blocks of the output cut records. The data
// is about as large as memory, or smaller.
THREADED_TEST(padded_chunks_come_back) {
  RandomSequence random(51);
  const std::uint32_t sizes[] = {99, 101, 255, 257, 511, 513, 1'001, 4'095, 4'097, 30'001, 65'537, 70'000};
  for (const std::uint32_t record_bytes : sizes) {
    if (check::sanitized && record_bytes % 4 != 1) continue;
    const TemporaryDirectory directory;
    const RecordFormat format{.record_bytes = record_bytes, .key_offset = record_bytes / 2, .key_bytes = 9};
    const auto keys = shapes::all_keys[random.below(9)];
    const Bytes records =
        shapes::random_records(format, (18'000'000 + random.below(9'000'000)) / record_bytes, keys, random);
    write(directory / "in", records);
    SortFilesRequest request = two_pass_request(directory, random);
    request.format = format;
    request.allow_direct = true;
    request.memory_bytes = 22'000'000 * (record_bytes > 60'000 ? 2 : 1);
    request.threads = 2;
    request.queue_depth = 2;
    request.stable = random.below(2) == 0;
    const SortReport report = sort_files(request);
    const auto transfers = std::ranges::find(report.choices, "input and output", &Choice::name);
    CHECK(transfers->reason.starts_with("chunks are padded"));
    CHECK_EQUAL(report.temporary_bytes_written, report.temporary_bytes_read);
    if (record_bytes < 60'000) CHECK(report.temporary_bytes_written > 1'000'000);
    CHECK(report.input_bytes_read >= records.size());
    CHECK_EQUAL(directory.files(), 2U);
    check_sorted(read(directory / "out"), records, format, request.stable);
  }
}

// The first records have low keys, and the sample has seen nothing else: all others meet in the last
// partition.
THREADED_TEST(a_partition_that_is_too_large_is_split_again) {
  RandomSequence random(44);
  const RecordFormat format;
  for (const bool stable : {false, true}) {
    const TemporaryDirectory directory;
    Bytes records =
        shapes::random_records(format, check::sanitized ? 100'000 : 250'000, shapes::Keys::low_bits, random);
    for (std::size_t at = 50'000; at < records.size(); at += 100) records[at] = std::byte{9};
    write(directory / "in", records);
    const ExternalPlan plan = plan_two_passes(small_plan(records.size(), stable));
    const SortReport report = sort_misled(directory, format, plan);
    CHECK(report.partitions_split_again > 0);
    check_sorted(read(directory / "out"), records, format, stable);
  }
}

// With direct reads, a page that holds the seam of two blocks is read twice, and counted twice.
TEST(blocks_of_records_hold_every_record_once) {
  RandomSequence random(50);
  for (std::uint64_t round = 0; round < usual_rounds / 4; ++round) {
    const TemporaryDirectory directory;
    const RecordFormat format{.record_bytes = static_cast<std::uint32_t>(1 + random.below(9'000))};
    const Bytes records = shapes::random_records(format, random.below(200), shapes::Keys::random, random);
    write(directory / "in", records);
    File file = File::open_to_read(directory / "in", File::Caching::direct);
    ExternalPlan plan;
    plan.padded = true;
    plan.block_bytes = round_up_to_pages(format.record_bytes) + page_bytes * (1 + random.below(9));
    FilesSource source({InputFile{&file, records.size()}}, format, plan);
    Buffer block(plan.block_bytes);
    StageClock clock;
    Bytes found;
    std::uint64_t seams_in_a_page = 0;
    while (const auto filled = source.next(block.data(), clock)) {
      if (file.is_direct() && found.size() % page_bytes != 0) ++seams_in_a_page;
      found.insert(found.end(), filled->content.begin(), filled->content.end());
    }
    CHECK(found == records);
    const std::uint64_t read_twice = clock.bytes - records.size();
    CHECK(read_twice == seams_in_a_page * page_bytes ||
          (seams_in_a_page > 0 && read_twice > (seams_in_a_page - 1) * page_bytes));
  }
}

THREADED_TEST(cancelling_a_sort_leaves_nothing) {
  const TemporaryDirectory directory;
  RandomSequence random(47);
  write(directory / "in", shapes::random_records({}, 100'000, shapes::Keys::random, random));
  int cancelled = 0;
  for (int round = 0; round < 10; ++round) {
    SortFilesRequest request = two_pass_request(directory, random);
    request.memory_bytes = 24'000'000;
    Progress progress;
    std::jthread canceller([&] {
      while (progress.bytes_done() == 0 && progress.phase() == 0) std::this_thread::yield();
      progress.cancel();
    });
    try {
      sort_files(request, &progress);  // done before the other thread had its turn
      fs::remove(directory / "out");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::cancelled);
      ++cancelled;
    }
    CHECK_EQUAL(directory.files(), 1U);
  }
  CHECK(cancelled > 0);
}
