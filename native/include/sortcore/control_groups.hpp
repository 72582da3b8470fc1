// What this machine has left within the limits of this process's control groups, as containers set them.
// Supports both versions of Linux's control groups; the limits of a group apply to its descendants.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace sortcore {

// The system's group files; tests use others.
struct ControlGroupFiles {
  std::string mounted = "/sys/fs/cgroup";
  std::string membership = "/proc/self/cgroup";
};

// Bytes below the nearest limit, 0 if they are used up; nothing without a limit. The page cache does not
// count as used: the kernel gives it up.
std::optional<std::uint64_t> group_memory_left_bytes(const ControlGroupFiles& files = {});

// Bytes that the system has available, within the limits of the groups.
std::uint64_t memory_left_bytes();

// Processors by the smallest quota, rounded up; nothing without a quota.
std::optional<unsigned> group_processors(const ControlGroupFiles& files = {});

}  // namespace sortcore
