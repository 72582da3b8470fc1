// Trees of files in the kernel's form: a process may still take the memory and processors that its groups
// leave.
#include "sortcore/control_groups.hpp"

#include <filesystem>
#include <fstream>

#include "check.hpp"
#include "temporary_directory.hpp"

namespace {
using namespace sortcore;

class Groups {
 public:
  explicit Groups(const std::string& membership) { write("self", membership); }
  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(directory_ / path).parent_path());
    std::ofstream(directory_ / path) << text;
  }
  ControlGroupFiles files() const { return {directory_.path(), directory_ / "self"}; }

 private:
  TemporaryDirectory directory_;
};
}  // namespace

TEST(the_page_cache_does_not_count_as_used) {
  const Groups groups("0::/jobs\n");
  groups.write("jobs/memory.max", "1000\n");
  groups.write("jobs/memory.current", "900\n");
  groups.write("jobs/memory.stat", "anon 100\nactive_file 300\ninactive_file 500\nshmem 7\n");
  CHECK_EQUAL(group_memory_left_bytes(groups.files()).value(), 900U);  // 1000 - (900 - 300 - 500)
}

TEST(limits_of_parents_hold_and_what_is_over_the_limit_leaves_nothing) {
  const Groups groups("0::/a/b\n");
  groups.write("a/memory.max", "500\n");
  groups.write("a/memory.current", "200\n");
  groups.write("a/b/memory.max", "max\n");
  groups.write("a/b/memory.current", "100\n");
  CHECK_EQUAL(group_memory_left_bytes(groups.files()).value(), 300U);
  groups.write("a/b/memory.high", "70\n");
  CHECK_EQUAL(group_memory_left_bytes(groups.files()).value(), 0U);
}

TEST(the_first_version_of_control_groups_is_read_too) {
  const Groups groups("5:cpu,cpuacct:/x\n4:memory:/x\n0::/\n");
  groups.write("memory/x/memory.limit_in_bytes", "2000\n");
  groups.write("memory/x/memory.usage_in_bytes", "1500\n");
  groups.write("memory/x/memory.stat",
               "cache 1\ninactive_file 2\ntotal_inactive_file 1000\ntotal_active_file 0\n");
  CHECK_EQUAL(group_memory_left_bytes(groups.files()).value(), 1500U);  // 2000 - (1500 - 1000)
  CHECK(!group_processors(groups.files()));
  groups.write("cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  groups.write("cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
  CHECK(!group_processors(groups.files()));
  groups.write("cpu,cpuacct/x/cpu.cfs_quota_us", "250000\n");
  CHECK_EQUAL(group_processors(groups.files()).value(), 3U);  // 2.5, rounded up
}

// The container's own group is mounted as the root, and named as on the host.
TEST(a_group_mounted_as_the_root_is_found) {
  const Groups groups("0::/docker/0123\n");
  groups.write("cpu.max", "200000 100000\n");
  groups.write("memory.max", "4000\n");
  groups.write("memory.current", "1000\n");
  CHECK_EQUAL(group_processors(groups.files()).value(), 2U);
  CHECK_EQUAL(group_memory_left_bytes(groups.files()).value(), 3000U);
}

TEST(no_group_has_no_limit) {
  const Groups groups("0::/\n");
  groups.write("cpu.max", "max 100000\n");
  CHECK(!group_processors(groups.files()));
  CHECK(!group_memory_left_bytes(groups.files()));
}
