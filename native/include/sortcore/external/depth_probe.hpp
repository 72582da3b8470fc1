// A trial of the best number of concurrent transfers for the disks, which no data sheet gives (TritonSort's
// future work, section 6.2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sortcore/progress.hpp"

namespace sortcore {

// Rate of the disks, reads and writes together, with this number of concurrent transfers of each kind.
struct DepthTrial {
  unsigned depth;
  double bytes_per_s;
};

struct DepthProbe {
  static constexpr std::size_t block_bytes = 1'024'000;
  static constexpr unsigned deepest = 8;
  // Memory that `try_depths` takes and releases.
  static constexpr std::uint64_t memory_bytes = 2 * deepest * block_bytes;
};

// Reads and writes an unlinked file in each of the directories at once, with one, two, four and eight
// concurrent transfers of each kind: about a fifth of a second. Nothing if transfers cannot bypass the page
// cache, which would be measured instead. Throws Error(io), Error(cancelled).
std::vector<DepthTrial> try_depths(std::span<const std::string> directories,
                                   const Progress* progress = nullptr);

// The usual depth, unless another moved over a quarter more: repeated trials this short differ by less. Of
// several such, the fastest.
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

// The depth chosen for a device.
struct DeviceDepth {
  DeviceDirectories on;
  DepthChoice choice;
};

// Chooses for one device after another, by a trial in one directory of each.
using TryDirectory = std::function<DepthChoice(const std::string& directory)>;
std::vector<DeviceDepth> choose_depths(std::span<const std::string> directories, const TryDirectory& try_one);

// Concurrent transfers of one kind that keep all devices of these directories or files busy; for an untried
// device the usual number.
unsigned transfers_at_once(std::span<const DeviceDepth> depths, std::span<const std::uint64_t> devices,
                           unsigned usual);

// Tries and chooses, in words for `--explain`. A disk that cannot be tried is no reason to give up: the sort
// will show whether it holds the data. Throws Error(cancelled).
DepthChoice choose_depth_by_trial(std::span<const std::string> directories, unsigned usual,
                                  const Progress* progress = nullptr);

}  // namespace sortcore
