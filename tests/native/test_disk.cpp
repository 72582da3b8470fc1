// Numbers of transfers under way on each disk.
#include "sortcore/io/disk.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "check.hpp"
#include "sortcore/external/depth_probe.hpp"
#include "sortcore/external/sort_files.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/threads.hpp"
#include "temporary_directory.hpp"

namespace {
using namespace sortcore;

constexpr unsigned usual_depth = 4;
}  // namespace

THREADED_TEST(a_disk_has_no_more_transfers_under_way_than_its_depth) {
  Disk disk(1, 2);
  std::atomic<int> reads{0}, writes{0}, most_reads{0}, most_writes{0};
  for_each_in_parallel(400, 8, [&](std::uint64_t i) {
    const bool reading = i % 2 == 0;
    const Disk::Slot slot(&disk, reading ? Disk::Transfer::read : Disk::Transfer::write);
    std::atomic<int>& now = reading ? reads : writes;
    std::atomic<int>& most = reading ? most_reads : most_writes;
    const int mine = ++now;
    for (int seen = most; seen < mine && !most.compare_exchange_weak(seen, mine);) continue;
    --now;
  });
  CHECK(most_reads <= 2);
  CHECK(most_writes <= 2);
  const Disk::Slot read(&disk, Disk::Transfer::read), write(&disk, Disk::Transfer::write);  // separate limits
  const Disk::Slot unlimited(nullptr, Disk::Transfer::read);
}

TEST(files_keep_to_the_limit_of_their_disk_and_move_with_it) {
  const TemporaryDirectory directory;
  Disks disks;
  CHECK(disks.of(device_of(directory.path())) == nullptr);
  disks.add(device_of(directory.path()), 1);
  CHECK_EQUAL(disks.of(device_of(directory.path()))->depth(), 1U);
  CHECK_EQUAL(device_of(directory / "nothing here"), 0U);
  File file = File::create(directory / "file", File::Caching::buffered, "file", 0600);
  file.keep_to(disks);
  CHECK_EQUAL(device_of(file.descriptor()), device_of(directory.path()));
  const std::vector<std::byte> bytes(page_bytes, std::byte{7});
  std::vector<std::byte> back(page_bytes);
  for (int times = 0; times < 3; ++times) {  // each gives its slot back, even when it fails
    file.write_exactly(bytes.data(), bytes.size(), 0);
    file.read_exactly(back.data(), back.size(), 0);
    CHECK_THROWS(io, file.read_exactly(back.data(), back.size(), 10 * page_bytes));
  }
  File moved(std::move(file));
  moved.read_exactly(back.data(), back.size(), 0);
  CHECK(back == bytes);
}

TEST(directories_of_one_device_share_a_depth) {
  const TemporaryDirectory first, second;
  const std::vector<std::string> same{first.path(), second.path(), first.path()};
  const auto one = by_device(same);
  CHECK_EQUAL(one.size(), 1U);
  CHECK_EQUAL(one.front().directories.size(), 2U);
  int trials = 0;
  const auto depths = choose_depths(same, [&](const std::string& directory) {
    CHECK_EQUAL(directory, first.path());
    ++trials;
    return DepthChoice{8, "tried"};
  });
  CHECK_EQUAL(trials, 1);
  CHECK_EQUAL(depths.front().choice.depth, 8U);
}

// /proc stands for another disk: its device number is its own.
TEST(each_device_has_a_depth_of_its_own) {
  const TemporaryDirectory directory;
  const std::vector<std::string> both{directory.path(), "/proc"};
  std::map<std::string, unsigned> rates{{directory.path(), 8}, {"/proc", 1}};
  const auto depths =
      choose_depths(both, [&](const std::string& tried) { return DepthChoice{rates.at(tried), "tried"}; });
  CHECK_EQUAL(depths.size(), 2U);
  CHECK_EQUAL(depths[0].choice.depth, 8U);
  CHECK_EQUAL(depths[1].choice.depth, 1U);
  const std::uint64_t here = depths[0].on.device, there = depths[1].on.device;
  const auto at_once = [&](std::vector<std::uint64_t> devices) {
    return transfers_at_once(depths, devices, usual_depth);
  };
  CHECK_EQUAL(at_once({here}), 8U);
  CHECK_EQUAL(at_once({here, here}), 8U);
  CHECK_EQUAL(at_once({here, there}), 9U);
  CHECK_EQUAL(at_once({there, here + there}), 1U + usual_depth);
  CHECK_EQUAL(at_once({here, 1'000'001, 1'000'002, 1'000'003}), 16U);
  CHECK_EQUAL(at_once({}), 1U);
}

// A file system in memory is another device; without one, both directories are on the same device.
TEST(a_sort_says_the_depth_of_each_device) {
  const TemporaryDirectory directory;
  const std::string memory = std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : directory.path();
  std::ofstream(directory / "in") << std::string(1'000'000, 'x');
  SortFilesRequest request;
  request.inputs = {directory / "in"};
  request.outputs = {directory / "out"};
  request.temporary_directories = {directory.path(), memory};
  request.passes = SortFilesRequest::Passes::two;
  request.memory_bytes = 300'000'000;
  request.threads = 2;
  request.probe_from_bytes = 0;
  const SortReport report = sort_files(request);
  std::size_t told = 0;
  unsigned sum = 0;
  for (const Choice& choice : report.choices) {
    if (!choice.name.starts_with("queue depth of ")) continue;
    ++told;
    sum += static_cast<unsigned>(std::stoul(choice.value));
  }
  CHECK_EQUAL(told, by_device(request.temporary_directories).size());
  const auto depth = std::ranges::find(report.choices, "queue depth", &Choice::name);
  CHECK(depth != report.choices.end());
  CHECK(std::stoul(depth->value) <= sum);
  CHECK_EQUAL(std::filesystem::file_size(directory / "out"), 1'000'000U);
}
