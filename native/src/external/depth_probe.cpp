#include "sortcore/external/depth_probe.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <set>

#include "sortcore/buffer.hpp"
#include "sortcore/clock.hpp"
#include "sortcore/error.hpp"
#include "sortcore/io/disk.hpp"
#include "sortcore/io/scratch_files.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::size_t block_bytes = DepthProbe::block_bytes;
constexpr std::uint64_t blocks_of_each_kind = 24;  // in each file
constexpr std::chrono::milliseconds trial_time{40};
constexpr double worth_changing = 1.25;

// The first half of each file is read, the second written.
class Trial {
 public:
  Trial(std::vector<File>& files, Buffer& memory, const Progress* progress)
      : files_(files), memory_(memory), progress_(progress) {}

  void fill(unsigned threads) {
    const std::uint64_t blocks = 2 * blocks_of_each_kind * files_.size();
    run_parallel(threads, [&](unsigned thread) {
      for (std::uint64_t block = next_++; block < blocks; block = next_++) {
        throw_if_cancelled(progress_);
        files_[block % files_.size()].write_exactly(block_of(thread), block_bytes,
                                                    block / files_.size() * block_bytes);
      }
    });
  }

  double bytes_per_s(unsigned depth) {
    moved_ = 0;
    const auto start = Clock::now();
    run_parallel(2 * depth, [&](unsigned thread) { move_until(start + trial_time, thread); });
    return static_cast<double>(moved_ * block_bytes) / seconds_since(start);
  }

 private:
  void move_until(Clock::time_point end, unsigned thread) {
    const bool reads = thread % 2 == 0;
    do {
      throw_if_cancelled(progress_);
      const std::uint64_t turn = next_++;
      File& file = files_[turn % files_.size()];
      const std::uint64_t block = turn / files_.size() % blocks_of_each_kind;
      if (reads) {
        file.read_exactly(block_of(thread), block_bytes, block * block_bytes);
      } else {
        file.write_exactly(block_of(thread), block_bytes, (blocks_of_each_kind + block) * block_bytes);
      }
      ++moved_;
    } while (Clock::now() < end);
  }
  std::byte* block_of(unsigned thread) noexcept { return memory_.data() + thread * block_bytes; }

  std::vector<File>& files_;
  Buffer& memory_;
  const Progress* progress_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> moved_{0};
};

}  // namespace

std::vector<DepthTrial> try_depths(std::span<const std::string> directories, const Progress* progress) {
  std::vector<File> files;
  for (const std::string& directory : std::set<std::string>(directories.begin(), directories.end()))
    files.push_back(create_unlinked(directory, File::Caching::direct));
  Buffer memory(DepthProbe::memory_bytes);
  Trial trial(files, memory, progress);
  trial.fill(DepthProbe::deepest);
  for (const File& file : files) {
    if (!file.is_direct()) return {};
  }
  std::vector<DepthTrial> trials;
  for (unsigned depth = 1; depth <= DepthProbe::deepest; depth *= 2)
    trials.push_back({depth, trial.bytes_per_s(depth)});
  return trials;
}

unsigned choose_depth(std::span<const DepthTrial> trials, unsigned usual) {
  double needed = 0;
  for (const DepthTrial& trial : trials) {
    if (trial.depth == usual) needed = trial.bytes_per_s * worth_changing;
  }
  unsigned chosen = usual;
  for (const DepthTrial& trial : trials) {
    if (trial.bytes_per_s <= needed) continue;
    chosen = trial.depth;
    needed = trial.bytes_per_s;
  }
  return chosen;
}

std::string describe(std::span<const DepthTrial> trials) {
  std::string words;
  for (const DepthTrial& trial : trials) {
    char rate[32];
    std::snprintf(rate, sizeof rate, "%u: %.2f", trial.depth, trial.bytes_per_s / 1e9);
    words += (words.empty() ? "" : ", ") + std::string(rate);
  }
  return words + " GB/s";
}

std::vector<DeviceDirectories> by_device(std::span<const std::string> directories) {
  std::vector<DeviceDirectories> devices;
  for (const std::string& directory : directories) {
    const std::uint64_t device = device_of(directory);
    auto found = std::ranges::find(devices, device, &DeviceDirectories::device);
    if (found == devices.end()) found = devices.insert(devices.end(), {device, {}});
    if (std::ranges::find(found->directories, directory) == found->directories.end())
      found->directories.push_back(directory);
  }
  return devices;
}

std::vector<DeviceDepth> choose_depths(std::span<const std::string> directories,
                                       const TryDirectory& try_one) {
  std::vector<DeviceDepth> depths;
  for (DeviceDirectories& on : by_device(directories)) {
    const DepthChoice choice = try_one(on.directories.front());
    depths.push_back({std::move(on), choice});
  }
  return depths;
}

unsigned transfers_at_once(std::span<const DeviceDepth> depths, std::span<const std::uint64_t> devices,
                           unsigned usual) {
  constexpr unsigned most = 2 * DepthProbe::deepest;  // blocks would become small
  unsigned sum = 0;
  for (const std::uint64_t device : std::set<std::uint64_t>(devices.begin(), devices.end())) {
    const auto tried =
        std::ranges::find(depths, device, [](const DeviceDepth& depth) { return depth.on.device; });
    sum += tried == depths.end() ? usual : tried->choice.depth;
  }
  return std::clamp(sum, 1U, std::max(most, usual));
}

DepthChoice choose_depth_by_trial(std::span<const std::string> directories, unsigned usual,
                                  const Progress* progress) {
  try {
    const std::vector<DepthTrial> trials = try_depths(directories, progress);
    if (trials.empty()) return {usual, "the usual; the disks take no direct transfers"};
    return {choose_depth(trials, usual), "tried, " + describe(trials)};
  } catch (const Error& error) {
    if (error.code() != ErrorCode::io) throw;
    return {usual, std::string("the usual; trying failed: ") + error.what()};
  }
}

}  // namespace sortcore
