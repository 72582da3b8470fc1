#include "external/explanation.hpp"

#include <string>

namespace sortcore {
namespace {

constexpr const char* memory_reason = "given, or four fifths of what is available";
constexpr const char* threads_reason = "given, or all that this process may use";
constexpr const char* output_reason = "as the file system and the record size allow";

std::string bytes(std::uint64_t value) { return std::to_string(value) + " bytes"; }

std::string transfer_words(bool direct) { return direct ? "direct" : "through the page cache"; }

std::string direct_reason(const ExternalPlan& plan) {
  if (plan.padded) return "chunks are padded to whole pages, and blocks of output cut records";
  if (plan.direct) return "records and pages share a grain of " + bytes(plan.grain_bytes);
  if (!plan.wanted_direct) return "not wanted, or refused by the file system";
  return "this memory is too little for blocks of whole pages";
}

std::string held_reason(const SortReport& report) {
  if (report.kept_bytes == report.input_bytes) return "all of the input fits in memory between the passes";
  return "in memory between the passes; the other " + bytes(report.input_bytes - report.kept_bytes) +
         " went to scratch files";
}

// For all data that went to scratch files.
std::string spilled_words(const ExternalPlan& plan, const SortReport& report) {
  if (report.spilled_bytes == 0) return plan.packing == Packing::never ? "plain" : "nothing";
  if (report.packed_bytes == 0) return "plain, " + bytes(report.spilled_bytes);
  const std::string packed = bytes(report.packed_bytes) + " packed to " + bytes(report.packed_to_bytes);
  if (report.packed_bytes == report.spilled_bytes) return "lz4, " + packed;
  return "lz4 and plain, " + packed + ", " + bytes(report.spilled_bytes - report.packed_bytes) + " plain";
}

}  // namespace

std::vector<Choice> explain_disks(std::span<const DeviceDepth> depths) {
  std::vector<Choice> choices;
  for (const DeviceDepth& depth : depths) {
    std::string places;
    for (const std::string& directory : depth.on.directories)
      places += (places.empty() ? "" : ", ") + directory;
    choices.push_back({"queue depth of " + places, std::to_string(depth.choice.depth), depth.choice.reason});
  }
  return choices;
}

std::vector<Choice> explain_one_pass(const OnePassPlan& plan, const PlanRequest& request,
                                     const File& output) {
  return {
      {"passes", "1", "the input is in the page cache and fits in memory"},
      {"memory", bytes(request.memory_bytes), memory_reason},
      {"threads", std::to_string(plan.threads), threads_reason},
      {"queue depth", std::to_string(plan.queue_depth),
       "writes under way while others gather; " + request.queue_depth_reason},
      {"input", "mapped", "the page cache holds it: no copy is made"},
      {"output", transfer_words(output.is_direct()), output_reason},
      {"block", bytes(plan.block_bytes), "whole pages if direct, otherwise whole records"},
  };
}

std::vector<Choice> explain_two_passes(const ExternalPlan& plan, const SortReport& report, const File& input,
                                       const File& output) {
  return {
      {"memory", bytes(plan.memory_bytes), memory_reason},
      {"threads", std::to_string(plan.threads), threads_reason},
      {"queue depth", std::to_string(plan.queue_depth),
       "transfers of each kind under way at once; " + plan.queue_depth_reason},
      {"input and output", transfer_words(plan.direct), direct_reason(plan)},
      {"block", bytes(plan.block_bytes),
       std::to_string(plan.blocks) + " of them, for input reads and output writes"},
      {"partitions", std::to_string(plan.partitions), "so that about five fit in memory at once"},
      {"chunk", bytes(plan.chunk_bytes), std::to_string(plan.chunks) + " of them, for temporary transfers"},
      {"low water", std::to_string(plan.low_water_chunks) + " chunks", "fewer free ones send data to disk"},
      {"held", bytes(report.kept_bytes), held_reason(report)},
      {"spilled", spilled_words(plan, report), plan.packing_reason},
      {"largest partition", bytes(plan.partition_limit_bytes), "a larger one is split again"},
      {"equal keys", plan.stable ? "in the order of the input" : "in any order",
       plan.stable ? "asked for: one thread distributes" : "not asked to be stable"},
      {"input", transfer_words(input.is_direct()), "past the page cache unless it is there already"},
      {"output", transfer_words(output.is_direct()), output_reason},
  };
}

}  // namespace sortcore
