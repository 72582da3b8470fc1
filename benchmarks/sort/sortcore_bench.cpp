// The sort core from a shell, for measuring it without Python, and the floors it is measured against.
//
//   sortcore_bench sort INPUT OUTPUT [--memory BYTES] [--threads N] [--depth N] [--temp DIR] [--passes 1|2]
//   [--verbose] sortcore_bench floor-write OUTPUT --bytes BYTES      one pass: the output written, nothing
//   sorted sortcore_bench floor-copy INPUT OUTPUT --memory BYTES [--temp DIR]      two passes: copied twice,
//   nothing sorted
//
// The last line of the answer is the seconds taken inside the program.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "floor_copy.hpp"
#include "sortcore/external/sort_files.hpp"
#include "sortcore/threads.hpp"

namespace {

using namespace sortcore;

struct Arguments {
  std::vector<std::string> positional;
  std::map<std::string, std::string> options;

  std::uint64_t number(const std::string& name, std::uint64_t fallback) const {
    const auto found = options.find(name);
    return found == options.end() ? fallback : std::stoull(found->second);
  }
  std::string text(const std::string& name, const std::string& fallback) const {
    const auto found = options.find(name);
    return found == options.end() ? fallback : found->second;
  }
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word(argv[i]);
    if (word == "--verbose") {
      arguments.options.emplace(word, "1");
    } else if (word.starts_with("--") && i + 1 < argc) {
      arguments.options[word] = argv[++i];
    } else {
      arguments.positional.push_back(word);
    }
  }
  return arguments;
}

void print(const SortReport& report) {
  std::printf(
      "%s: read %llu, sampled %llu, temporary %llu + %llu, wrote %llu, kept %llu; %llu partitions, split "
      "%llu\n",
      report.mode.c_str(), static_cast<unsigned long long>(report.input_bytes_read),
      static_cast<unsigned long long>(report.sample_bytes_read),
      static_cast<unsigned long long>(report.temporary_bytes_written),
      static_cast<unsigned long long>(report.temporary_bytes_read),
      static_cast<unsigned long long>(report.output_bytes_written),
      static_cast<unsigned long long>(report.kept_bytes), static_cast<unsigned long long>(report.partitions),
      static_cast<unsigned long long>(report.partitions_split_again));
  for (const PhaseReport& phase : report.phases) {
    std::printf("  %-16s %.3f s\n", phase.name.c_str(), phase.seconds);
    const MeetingCounts& met = phase.meetings;
    std::printf(
        "    met: %llu hand-overs, %llu lock waits, %llu sleeps, %llu idle and %llu late wakes, %llu threads "
        "started\n",
        static_cast<unsigned long long>(met.hand_overs), static_cast<unsigned long long>(met.lock_waits),
        static_cast<unsigned long long>(met.sleeps), static_cast<unsigned long long>(met.idle_wakes),
        static_cast<unsigned long long>(met.late_wakes),
        static_cast<unsigned long long>(phase.threads_started));
    for (const StageReport& stage : phase.stages) {
      std::printf("    %-16s x%u worked %.3f s, waited %.3f s, %llu bytes\n", stage.name.c_str(),
                  stage.threads, stage.working_s, stage.waiting_s,
                  static_cast<unsigned long long>(stage.bytes));
    }
  }
  for (const Choice& choice : report.choices) {
    std::printf("  %s: %s (%s)\n", choice.name.c_str(), choice.value.c_str(), choice.reason.c_str());
  }
}

double sort(const Arguments& arguments) {
  SortFilesRequest request;
  request.inputs = {arguments.positional.at(1)};
  request.outputs = {arguments.positional.at(2)};
  request.memory_bytes = arguments.number("--memory", 0);
  request.threads = static_cast<unsigned>(arguments.number("--threads", 0));
  request.queue_depth = static_cast<unsigned>(arguments.number("--depth", 0));
  if (arguments.options.contains("--temp")) request.temporary_directories = {arguments.text("--temp", "")};
  const auto passes = arguments.number("--passes", 0);
  request.passes = static_cast<SortFilesRequest::Passes>(passes);
  const SortReport report = sort_files(request);
  if (arguments.options.contains("--verbose")) print(report);
  return report.seconds;
}

double floor_write(const Arguments& arguments) {
  const OnePassPlan plan{resolve_threads(0), static_cast<unsigned>(arguments.number("--depth", 4)),
                         4'096'000};
  return write_floor(arguments.positional.at(1), arguments.number("--bytes", 1'000'000'000), plan).seconds;
}

double floor_copy(const Arguments& arguments) {
  const std::string input = arguments.positional.at(1);
  const std::string output = arguments.positional.at(2);
  PlanRequest request;
  request.input_bytes = std::filesystem::file_size(input);
  request.memory_bytes = arguments.number("--memory", 1'000'000'000);
  request.threads = resolve_threads(0);
  request.queue_depth = static_cast<unsigned>(arguments.number("--depth", 4));
  return copy_floor(input, output, arguments.text("--temp", directory_of(output)), plan_two_passes(request))
      .seconds;
}

double run(const Arguments& arguments) {
  const std::string& command = arguments.positional.at(0);
  if (command == "sort") return sort(arguments);
  if (command == "floor-write") return floor_write(arguments);
  if (command == "floor-copy") return floor_copy(arguments);
  throw std::invalid_argument("unknown command " + command);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    std::printf("%.4f\n", run(parse(argc, argv)));
    return EXIT_SUCCESS;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "sortcore_bench: %s\n", failure.what());
    return EXIT_FAILURE;
  }
}
