#include <filesystem>
#include <string>
#include <vector>

#include "check.hpp"
#include "sortcore/external/depth_probe.hpp"
#include "temporary_directory.hpp"

using namespace sortcore;

namespace {
constexpr unsigned usual = 4;
unsigned chosen(std::vector<DepthTrial> trials) { return choose_depth(trials, usual); }
}  // namespace

TEST(depth_stays_as_usual_among_rates_that_are_about_equal) {
  CHECK_EQUAL(chosen({{1, 2.0e9}, {2, 2.1e9}, {4, 2.0e9}, {8, 2.4e9}}), usual);
  CHECK_EQUAL(chosen({{1, 1.1e9}, {2, 1.8e9}, {4, 2.0e9}, {8, 2.49e9}}), usual);
}

TEST(depth_grows_for_a_disk_that_wants_more) {
  CHECK_EQUAL(chosen({{1, 0.2e9}, {2, 0.4e9}, {4, 0.8e9}, {8, 1.5e9}}), 8U);
}

TEST(depth_shrinks_for_a_disk_with_one_arm) {
  CHECK_EQUAL(chosen({{1, 160e6}, {2, 120e6}, {4, 60e6}, {8, 50e6}}), 1U);
  CHECK_EQUAL(chosen({{1, 100e6}, {2, 120e6}, {4, 60e6}, {8, 110e6}}), 2U);
}

TEST(depth_stays_as_usual_without_trials) { CHECK_EQUAL(chosen({}), usual); }

TEST(trials_are_told_in_words) {
  const std::vector<DepthTrial> trials{{1, 0.82e9}, {2, 1.606e9}};
  CHECK_EQUAL(describe(trials), std::string("1: 0.82, 2: 1.61 GB/s"));
}

THREADED_TEST(a_disk_is_tried_and_left_as_it_was) {
  const TemporaryDirectory directory;
  const std::vector<std::string> twice{directory.path(), directory.path()};
  const std::vector<DepthTrial> trials = try_depths(twice);  // none where transfers cannot be direct
  for (const DepthTrial& trial : trials) CHECK(trial.bytes_per_s > 0);
  CHECK(trials.empty() || (trials.size() == 4 && trials.back().depth == DepthProbe::deepest));
  CHECK_EQUAL(directory.files(), 0U);
  Progress cancelled;
  cancelled.cancel();
  CHECK_THROWS(cancelled, try_depths(twice, &cancelled));
  CHECK_EQUAL(directory.files(), 0U);
  std::filesystem::remove(directory.path());
  CHECK_THROWS(io, try_depths(twice));
  const DepthChoice untried = choose_depth_by_trial(twice, usual);
  CHECK_EQUAL(untried.depth, usual);
  CHECK(untried.reason.find("trying failed") != std::string::npos);
}
