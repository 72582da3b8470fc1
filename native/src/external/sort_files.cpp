#include "sortcore/external/sort_files.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <optional>

#include "external/explanation.hpp"
#include "sortcore/error.hpp"
#include "sortcore/external/depth_probe.hpp"
#include "sortcore/external/one_pass.hpp"
#include "sortcore/external/two_passes.hpp"
#include "sortcore/io/file_version.hpp"
#include "sortcore/io/input_mapping.hpp"
#include "sortcore/records/record_sort.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

// Above this share of an input in the page cache, reading through it is faster than bypassing it.
constexpr double warm_share = 0.95;
constexpr unsigned default_queue_depth = 4;
constexpr std::size_t one_pass_block_bytes = 4'096'000;

struct OpenInputs {
  std::vector<File> files;
  std::vector<FileVersion> versions;
  std::vector<std::uint64_t> sizes;
  std::vector<bool> are_warm;
  std::uint64_t total_bytes = 0;
  double warmth = 1;  // the least share in the page cache of any
};

bool same_file(const std::string& path, const File& file) {
  struct stat a{};
  struct stat b{};
  return ::stat(path.c_str(), &a) == 0 && ::fstat(file.descriptor(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

void check_outputs(const SortFilesRequest& request, const OpenInputs& inputs) {
  if (request.outputs.empty()) throw Error(ErrorCode::bad_input, "no output given");
  if (!request.replicas.empty() && request.replicas.size() != request.outputs.size())
    throw Error(ErrorCode::bad_input, "name a replica for each output or for none");
  std::vector<std::string> written = request.outputs;
  written.insert(written.end(), request.replicas.begin(), request.replicas.end());
  std::vector<OutputPlace> places;
  for (const std::string& output : written) {
    std::error_code unreadable;
    if (std::filesystem::is_directory(output, unreadable)) {
      throw Error(ErrorCode::bad_input, "output " + output + " is a directory; name a file", output);
    }
    places.push_back(place_of(output));
    const auto same = std::ranges::find(places, places.back());
    if (same != places.end() - 1) {
      const std::string& first = written[static_cast<std::size_t>(same - places.begin())];
      throw Error(ErrorCode::bad_input,
                  "output " + output + " is given twice" + (first == output ? "" : ", also as " + first),
                  output);
    }
    for (const File& input : inputs.files) {
      if (!same_file(output, input)) continue;
      throw Error(ErrorCode::bad_input,
                  "output " + output + " is the input " + input.path() + "; name another file", output);
    }
  }
}

void add_input(OpenInputs& inputs, const std::string& path, const RecordFormat& format) {
  File file = File::open_to_read(path, File::Caching::buffered);
  inputs.versions.emplace_back(path);
  const std::uint64_t bytes = file.size();
  format.whole_records(bytes, path);
  const double warmth = cached_share(file, bytes);
  inputs.warmth = std::min(inputs.warmth, warmth);
  inputs.total_bytes += bytes;
  inputs.sizes.push_back(bytes);
  inputs.are_warm.push_back(warmth >= warm_share);
  inputs.files.push_back(std::move(file));
}

// The usual limit is low for the sake of old programs; the system lets every process raise it to the hard
// limit.
void allow_open_files(std::size_t inputs) {
  constexpr rlim_t of_others = 128;  // outputs, scratch files, files already open
  rlimit limit{};
  const rlim_t needed = inputs + of_others;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  limit.rlim_cur = std::min(needed, limit.rlim_max);
  if (limit.rlim_cur >= needed && ::setrlimit(RLIMIT_NOFILE, &limit) == 0) return;
  throw Error(ErrorCode::bad_input, std::to_string(inputs) + " inputs are too many: this process may open " +
                                        std::to_string(limit.rlim_max) +
                                        " files at once; raise that (`ulimit -Hn`) or join inputs");
}

OpenInputs open_inputs(const SortFilesRequest& request) {
  if (request.inputs.empty()) throw Error(ErrorCode::bad_input, "no input given");
  allow_open_files(request.inputs.size());
  OpenInputs inputs;
  for (const std::string& path : request.inputs) add_input(inputs, path, request.format);
  return inputs;
}

void read_cold_directly(OpenInputs& inputs) {
  for (std::size_t i = 0; i < inputs.files.size(); ++i)
    if (!inputs.are_warm[i]) inputs.files[i].go_direct();
}

std::vector<std::string> temporary_directories(const SortFilesRequest& request) {
  if (!request.temporary_directories.empty()) return request.temporary_directories;
  return {directory_of(request.outputs.front())};
}

// Memory beyond the data and its working space would be mapped to no use.
PlanRequest without_excess(PlanRequest wanted) {
  wanted.memory_bytes = std::min(wanted.memory_bytes, 2 * wanted.input_bytes + (std::uint64_t{256} << 20));
  return wanted;
}

PlanRequest plan_request(const SortFilesRequest& request, const OpenInputs& inputs) {
  PlanRequest wanted;
  wanted.input_bytes = inputs.total_bytes;
  wanted.format = request.format;
  wanted.stable = request.stable;
  wanted.memory_bytes = request.memory_bytes;
  wanted.threads = resolve_threads(request.threads);
  wanted.queue_depth = request.queue_depth != 0 ? request.queue_depth : default_queue_depth;
  wanted.outputs = static_cast<unsigned>(request.outputs.size());
  wanted.wants_direct = request.allow_direct;
  return wanted;
}

// Places where a file may begin: on a page and, counted from the first file, on a record.
std::size_t mapping_unit_bytes(const PlanRequest& wanted) {
  return std::lcm<std::size_t>(wanted.format.record_bytes, page_bytes);
}

// Gaps between files take up record numbers and addresses, though no memory.
bool maps_together(const OpenInputs& inputs, const PlanRequest& wanted) {
  if (inputs.files.size() == 1) return true;
  constexpr std::uint64_t most_gap_bytes = std::uint64_t{1} << 36;
  const std::uint64_t gap_bytes = inputs.files.size() * mapping_unit_bytes(wanted);
  const std::uint64_t numbers = (inputs.total_bytes + gap_bytes) / wanted.format.record_bytes;
  return gap_bytes <= most_gap_bytes && numbers <= max_records_in_memory;
}

bool goes_in_one_pass(const SortFilesRequest& request, const OpenInputs& inputs, const PlanRequest& wanted) {
  if (request.outputs.size() != 1 || !maps_together(inputs, wanted)) return false;
  if (request.passes != SortFilesRequest::Passes::automatic)
    return request.passes == SortFilesRequest::Passes::one;
  return inputs.warmth >= warm_share && fits_in_one_pass(wanted);
}

void run_one_pass(OpenInputs& inputs, std::vector<OutputFile>& outputs, const PlanRequest& wanted,
                  SortReport& report, Progress* progress) {
  const std::size_t grain = choose_grain(without_excess(wanted)).output_bytes();
  const OnePassPlan plan{wanted.threads, wanted.queue_depth,
                         std::max(one_pass_block_bytes / grain, std::size_t{1}) * grain};
  InputMapping mapping(inputs.files, inputs.sizes, mapping_unit_bytes(wanted));
  report.mode = "one pass";
  outputs.front().set_size(inputs.total_bytes);
  report.records = inputs.total_bytes / wanted.format.record_bytes;
  std::ranges::move(sort_in_one_pass(mapping, wanted.format, outputs.front(), plan, progress),
                    std::back_inserter(report.phases));
  report.input_bytes_read = inputs.total_bytes;
  report.kept_bytes = inputs.total_bytes;
  report.choices = explain_one_pass(plan, wanted, outputs.front().file());
}

std::vector<std::uint64_t> devices_of(std::span<const std::string> paths) {
  std::vector<std::uint64_t> devices;
  for (const std::string& path : paths) devices.push_back(device_of(path));
  return devices;
}

std::vector<std::string> output_directories(const SortFilesRequest& request) {
  std::vector<std::string> directories;
  for (const std::string& output : request.outputs) directories.push_back(directory_of(output));
  for (const std::string& replica : request.replicas) directories.push_back(directory_of(replica));
  return directories;
}

// Enough for the disks of the inputs, for those of scratch files and for those of the outputs.
unsigned depth_for_all(const SortFilesRequest& request, std::span<const DeviceDepth> depths) {
  unsigned most = 0;
  for (const auto& paths : {request.inputs, temporary_directories(request), output_directories(request)})
    most = std::max(most, transfers_at_once(depths, devices_of(paths), default_queue_depth));
  return most;
}

// Tries the disks that will be written, one after another, unless the depth was given or the input is small.
void try_disks(const SortFilesRequest& request, PlanRequest& wanted, Disks& disks, SortReport& report,
               const Progress* progress) {
  if (request.queue_depth != 0) {
    wanted.queue_depth_reason = depth_was_given;
  } else if (wanted.input_bytes < request.probe_from_bytes || !wanted.wants_direct ||
             wanted.memory_bytes < 16 * DepthProbe::memory_bytes) {
    wanted.queue_depth_reason = disks_were_not_tried;
  } else {
    const auto start = Clock::now();
    std::vector<std::string> directories = temporary_directories(request);
    std::ranges::move(output_directories(request), std::back_inserter(directories));
    const auto depths = choose_depths(directories, [&](const std::string& directory) {
      return choose_depth_by_trial({&directory, 1}, default_queue_depth, progress);
    });
    for (const DeviceDepth& depth : depths) disks.add(depth.on.device, depth.choice.depth);
    wanted.queue_depth = depth_for_all(request, depths);
    wanted.queue_depth_reason =
        depths.size() == 1 ? depths.front().choice.reason : "for all disks that work at once; each was tried";
    report.disks = explain_disks(depths);
    report.phases.push_back({"try disks", seconds_since(start), {}});
  }
}

void run_two_passes(const SortFilesRequest& request, OpenInputs& inputs, std::vector<OutputFile>& outputs,
                    const PlanRequest& wanted, const Disks& disks, SortReport& report, Progress* progress) {
  const ExternalPlan plan = plan_two_passes(without_excess(wanted));
  const auto caching = plan.direct ? File::Caching::direct : File::Caching::buffered;
  ScratchFiles scratch(temporary_directories(request), caching, &disks);
  std::vector<InputFile> sources;
  for (std::size_t i = 0; i < inputs.files.size(); ++i)
    sources.push_back({&inputs.files[i], inputs.sizes[i]});
  FilesSource source(std::move(sources), wanted.format, plan);
  if (outputs.size() == 1) outputs.front().set_size(inputs.total_bytes);  // a full disk is noticed now
  report.mode = "two passes";
  sort_in_two_passes(source, wanted.format, outputs, scratch, plan, progress, report);
  report.choices = explain_two_passes(plan, report, inputs.files.front(), outputs.front().file());
}

}  // namespace

SortReport sort_files(const SortFilesRequest& given, Progress* progress) {
  const auto start = Clock::now();
  SortFilesRequest request = given;
  if (request.memory_bytes == 0) request.memory_bytes = default_memory_bytes();
  request.format.check();
  Disks disks;
  OpenInputs inputs = open_inputs(request);
  check_outputs(request, inputs);
  PlanRequest wanted = plan_request(request, inputs);
  SortReport report;
  report.input_bytes = inputs.total_bytes;
  try_disks(request, wanted, disks, report, progress);
  for (File& input : inputs.files) input.keep_to(disks);
  const bool direct = choose_grain(without_excess(wanted)).direct;
  if (direct) read_cold_directly(inputs);
  wanted.packing = choose_packing(request.spill, Lz4::of_the_system(), std::nullopt);
  std::vector<OutputFile> outputs;
  const auto caching = direct ? File::Caching::direct : File::Caching::buffered;
  for (std::size_t i = 0; i < request.outputs.size(); ++i) {
    outputs.emplace_back(request.outputs[i], caching);
    if (!request.replicas.empty()) outputs.back().add_replica(request.replicas[i], caching);
    outputs.back().keep_to(disks);
    if (!request.replaces) outputs.back().replace_nothing();
  }
  if (goes_in_one_pass(request, inputs, wanted)) {
    run_one_pass(inputs, outputs, wanted, report, progress);
  } else {
    run_two_passes(request, inputs, outputs, wanted, disks, report, progress);
  }
  std::ranges::move(std::exchange(report.disks, {}), std::back_inserter(report.choices));
  throw_if_cancelled(progress);
  require_unchanged(inputs.versions);
  OutputFile::commit(outputs);
  for (const OutputFile& output : outputs)
    report.output_bytes_written += output.size() * (request.replicas.empty() ? 1 : 2);
  report.seconds = seconds_since(start);
  return report;
}

}  // namespace sortcore
