#include "sortcore/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <sstream>
#include <vector>

namespace sortcore {
namespace {

enum class Version : std::uint8_t { one, two };

std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? std::optional(value) : std::nullopt;  // "max" and -1 are none
}

// The sum of some of the named numbers in a file of lines "name number".
std::uint64_t sum_of(const std::string& path, const std::vector<std::string>& names) {
  std::ifstream file(path);
  std::string name;
  std::uint64_t value = 0, sum = 0;
  while (file >> name >> value)
    if (std::ranges::find(names, name) != names.end()) sum += value;
  return sum;
}

// In some containers a group's path is that on the host, and only its end, or nothing, is mounted. So all of
// its parents are tried, up to the root.
void visit_up(const std::string& root, std::string path, Version version,
              const std::function<void(const std::string&, Version)>& visit) {
  while (true) {
    visit(root + path + "/", version);
    const std::size_t parent = path.rfind('/');
    if (path.empty() || parent == std::string::npos) return;
    path.resize(parent);
  }
}

// Passes on the folders of the groups that this process belongs to and that have the controller, and of their
// parents.
void visit_groups(const ControlGroupFiles& files, const std::string& controller,
                  const std::function<void(const std::string&, Version)>& visit) {
  std::ifstream membership(files.membership);
  std::string line;
  while (std::getline(membership, line)) {
    std::istringstream fields(line);
    std::string number, controllers, path;
    std::getline(fields, number, ':');
    std::getline(fields, controllers, ':');
    std::getline(fields, path);
    if (path == "/") path.clear();
    if (controllers.empty()) {
      visit_up(files.mounted, path, Version::two, visit);
      visit_up(files.mounted + "/unified", path, Version::two, visit);
    } else if (("," + controllers + ",").find("," + controller + ",") != std::string::npos) {
      visit_up(files.mounted + "/" + controllers, path, Version::one, visit);
      if (controllers != controller) visit_up(files.mounted + "/" + controller, path, Version::one, visit);
    }
  }
}

template <typename Value>
void lower(std::optional<Value>& least, Value value) {
  least = least ? std::min(*least, value) : value;
}

void lower_to_memory_left(std::optional<std::uint64_t>& least, const std::string& folder, Version version) {
  const bool second = version == Version::two;
  const auto used = read_number(folder + (second ? "memory.current" : "memory.usage_in_bytes"));
  if (!used) return;
  const std::string before = second ? "" : "total_";  // of the group and those below it
  const std::uint64_t cached =
      sum_of(folder + "memory.stat", {before + "active_file", before + "inactive_file"});
  const std::uint64_t needed = *used - std::min(*used, cached);
  for (const char* limit : {"memory.max", "memory.high", "memory.limit_in_bytes"}) {
    if (const auto bytes = read_number(folder + limit)) lower(least, *bytes - std::min(*bytes, needed));
  }
}

void lower_to_quota(std::optional<unsigned>& least, const std::string& folder, Version version) {
  std::optional<std::uint64_t> quota, period;
  if (version == Version::two) {
    std::ifstream file(folder + "cpu.max");
    std::uint64_t first = 0, second = 0;
    if (file >> first >> second) quota = first, period = second;
  } else {
    quota = read_number(folder + "cpu.cfs_quota_us");
    period = read_number(folder + "cpu.cfs_period_us");
  }
  if (!quota || !period || *period == 0 || *quota > UINT32_MAX) return;
  lower(least, static_cast<unsigned>(std::max<std::uint64_t>((*quota + *period - 1) / *period, 1)));
}

std::uint64_t available_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  std::string name;
  std::uint64_t kib = 0;
  std::string unit;
  while (file >> name >> kib >> unit) {
    if (name == "MemAvailable:") return kib * 1024;
  }
  return std::uint64_t{1} << 30;
}

}  // namespace

std::uint64_t memory_left_bytes() {
  return std::min(available_memory_bytes(), group_memory_left_bytes().value_or(UINT64_MAX));
}

std::optional<std::uint64_t> group_memory_left_bytes(const ControlGroupFiles& files) {
  std::optional<std::uint64_t> least;
  visit_groups(files, "memory", [&](const std::string& folder, Version version) {
    lower_to_memory_left(least, folder, version);
  });
  return least;
}

std::optional<unsigned> group_processors(const ControlGroupFiles& files) {
  std::optional<unsigned> least;
  visit_groups(files, "cpu",
               [&](const std::string& folder, Version version) { lower_to_quota(least, folder, version); });
  return least;
}

}  // namespace sortcore
