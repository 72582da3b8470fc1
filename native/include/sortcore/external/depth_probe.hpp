// A trial of how many transfers the disks like to have under way, as no data sheet tells (TritonSort's future
// work, section 6.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sortcore/progress.hpp"

namespace sortcore {

// What the disks moved, read and written together, with so many transfers of each kind under way.
struct DepthTrial {
  unsigned depth;
  double bytes_per_s;
};

struct DepthProbe {
  static constexpr std::size_t block_bytes = 1'024'000;
  static constexpr unsigned deepest = 8;
  // Memory that `try_depths` takes, and gives back.
  static constexpr std::uint64_t memory_bytes = 2 * deepest * block_bytes;
};

// Reads and writes an unlinked file in each of the directories at once, with one, two, four and eight
// transfers of each kind under way: about a fifth of a second. Nothing where transfers cannot go past the
// page cache, which would be measured instead. Throws Error(io), Error(cancelled).
std::vector<DepthTrial> try_depths(std::span<const std::string> directories,
                                   const Progress* progress = nullptr);

// The usual depth, unless another moved over a quarter more: trials as short as these differ by less from one
// time to the next. Of several such, the fastest.
unsigned choose_depth(std::span<const DepthTrial> trials, unsigned usual);

// The trials in words: "1: 0.82, 2: 1.61 GB/s".
std::string describe(std::span<const DepthTrial> trials);

struct DepthChoice {
  unsigned depth;
  std::string reason;
};

// Directories of one device, in the order in which they were given, each once.
struct DeviceDirectories {
  std::uint64_t device;
  std::vector<std::string> directories;
};
std::vector<DeviceDirectories> by_device(std::span<const std::string> directories);

// What was chosen for a device.
struct DeviceDepth {
  DeviceDirectories on;
  DepthChoice choice;
};

// Chooses for one device after another, by a trial in one directory of each.
using TryDirectory = std::function<DepthChoice(const std::string& directory)>;
std::vector<DeviceDepth> choose_depths(std::span<const std::string> directories, const TryDirectory& try_one);

// Transfers of one kind that keep all devices of these directories or files busy; of a device that was not
// tried as many as usual.
unsigned transfers_at_once(std::span<const DeviceDepth> depths, std::span<const std::uint64_t> devices,
                           unsigned usual);

// Tries and chooses, in words for `--explain`. A disk that cannot be tried is no reason to give up: whether
// it holds the data will be seen. Throws Error(cancelled).
DepthChoice choose_depth_by_trial(std::span<const std::string> directories, unsigned usual,
                                  const Progress* progress = nullptr);

}  // namespace sortcore
