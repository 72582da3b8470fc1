#include "sortcore/external/external_plan.hpp"

#include <algorithm>
#include <fstream>
#include <numeric>

#include "sortcore/error.hpp"
#include "sortcore/external/one_pass.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/lines/line_sort.hpp"
#include "sortcore/records/record_sort.hpp"

namespace sortcore {
namespace {

constexpr std::size_t largest_grain = 1'048'576;
constexpr std::uint64_t fewest_grains = 200;      // of all memory, or blocks and chunks become too few
constexpr std::size_t largest_block = 4'096'000;  // 40,960 records of 100 bytes and 1,000 pages
constexpr std::size_t largest_chunk = 1'024'000;
constexpr std::size_t fewest_partitions = 16;
// Of the memory for records: a partition takes a fifth, so that one is sorted while others are read and
// written; the chunks being filled a third, or where memory is short a sixth; what is kept free for bursts a
// sixteenth. Smaller partitions would be more, their chunks smaller, and the disk slower. A partition may
// turn out up to three times as large.
constexpr std::uint64_t partitions_in_memory = 5;
constexpr std::uint64_t least_filling_share = 6;
constexpr std::uint64_t filling_shares[] = {3, least_filling_share};
constexpr std::uint64_t free_share = 16;
constexpr std::uint64_t largest_share = 3;
constexpr std::uint64_t scratch_share = 3;

std::size_t whole_grains(std::uint64_t bytes, std::size_t grain, std::size_t most) {
  const std::uint64_t capped = std::min<std::uint64_t>(bytes, most) / grain * grain;
  return static_cast<std::size_t>(std::max<std::uint64_t>(capped, grain));
}

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

std::uint64_t read_number(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : UINT64_MAX;
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

std::uint64_t scratch_for(const PlanRequest& request, std::uint64_t bytes) {
  if (request.mean_line_bytes != 0)
    return line_scratch_bytes(bytes / request.mean_line_bytes, request.threads);
  return scratch_bytes(bytes / request.format.record_bytes, request.threads);
}

// A block of input holds a stride and, whatever its length, the rest of the line that the stride cuts.
void plan_lines(ExternalPlan& plan) {
  plan.longest_line_bytes = plan.chunk_bytes;
  plan.line_stride_bytes = plan.block_bytes - plan.chunk_bytes - page_bytes;
}

bool is_enough(const ExternalPlan& plan, const PlanRequest& request) {
  const std::size_t needed =
      plan.partitions * plan.threads + plan.low_water_chunks + plan.queue_depth + plan.threads;
  const bool holds_lines =
      request.mean_line_bytes == 0 || plan.block_bytes > plan.chunk_bytes + 2 * page_bytes;
  return plan.chunks >= 2 * needed && plan.partition_limit_bytes >= plan.chunk_bytes && holds_lines;
}

}  // namespace

std::size_t grain_of(const RecordFormat& format, std::uint64_t memory_bytes, bool& direct) {
  const std::size_t grain = std::lcm<std::size_t>(format.record_bytes, page_bytes);
  if (direct && grain <= std::min<std::uint64_t>(largest_grain, memory_bytes / fewest_grains)) return grain;
  direct = false;
  return format.record_bytes;
}

namespace {

ExternalPlan lay_out(const PlanRequest& request) {
  ExternalPlan plan;
  plan.memory_bytes = request.memory_bytes;
  plan.threads = request.threads;
  plan.queue_depth = request.queue_depth;
  plan.queue_depth_reason = request.queue_depth_reason;
  plan.direct = request.wants_direct;
  plan.stable = request.stable;
  plan.grain_bytes = grain_of(request.format, request.memory_bytes, plan.direct);
  plan.direct_reason =
      plan.direct ? "records and pages share a grain of " + std::to_string(plan.grain_bytes) + " bytes"
      : !request.wants_direct ? "not wanted, or refused by the file system"
                              : "no block of this memory holds both whole records and whole pages";

  plan.blocks = plan.threads + 2 * plan.queue_depth + 1 + request.outputs;
  plan.block_bytes = whole_grains(request.memory_bytes / (6 * plan.blocks), plan.grain_bytes, largest_block);
  const std::uint64_t block_total = plan.blocks * plan.block_bytes;
  const std::uint64_t rest = request.memory_bytes > block_total ? request.memory_bytes - block_total : 0;

  plan.partition_limit_bytes = std::min(rest / largest_share, request.input_bytes + plan.grain_bytes);
  // Short records need more room for their keys than for themselves.
  while (scratch_for(request, plan.partition_limit_bytes) >
         scratch_for(request, plan.grain_bytes) + rest / scratch_share) {
    plan.partition_limit_bytes /= 2;
  }
  plan.scratch_bytes = scratch_for(request, plan.partition_limit_bytes);
  const std::uint64_t pool = rest > plan.scratch_bytes ? rest - plan.scratch_bytes : 0;

  const std::uint64_t typical = std::min(pool / partitions_in_memory, plan.partition_limit_bytes / 2);
  const std::uint64_t wanted = divide_up(request.input_bytes, std::max<std::uint64_t>(typical, 1));
  const std::uint64_t most =
      std::max<std::uint64_t>(pool / (least_filling_share * plan.threads * plan.grain_bytes), 1);
  plan.partitions =
      static_cast<std::size_t>(std::min(std::clamp<std::uint64_t>(wanted, fewest_partitions, 16'384), most));
  const bool lines = request.mean_line_bytes != 0;
  const std::uint64_t largest = std::min<std::uint64_t>(
      {largest_chunk, lines ? plan.block_bytes / 4 : plan.block_bytes, plan.partition_limit_bytes});
  for (const std::uint64_t share : filling_shares) {
    plan.chunk_bytes = whole_grains(pool / (share * plan.threads * plan.partitions), plan.grain_bytes,
                                    static_cast<std::size_t>(largest));
    plan.chunks = static_cast<std::size_t>(pool / plan.chunk_bytes);
    plan.low_water_chunks = std::max<std::size_t>(plan.chunks / free_share, plan.queue_depth + plan.threads);
    if (is_enough(plan, request)) break;
  }
  if (lines) plan_lines(plan);
  return plan;
}

// More memory than the request has, found by halving, that is enough where a little less is not.
std::uint64_t least_memory_bytes(PlanRequest request) {
  constexpr std::uint64_t most = std::uint64_t{1} << 50, precision = 1 << 16;
  const auto enough = [&](std::uint64_t bytes) {
    request.memory_bytes = bytes;
    return is_enough(lay_out(request), request);
  };
  std::uint64_t too_few = std::max(request.memory_bytes, precision);
  std::uint64_t suffices = 2 * too_few;
  for (; suffices < most && !enough(suffices); suffices *= 2) too_few = suffices;
  while (suffices - too_few > precision) {
    const std::uint64_t middle = too_few + (suffices - too_few) / 2;
    (enough(middle) ? suffices : too_few) = middle;
  }
  return suffices;
}

}  // namespace

ExternalPlan plan_two_passes(const PlanRequest& request) {
  ExternalPlan plan = lay_out(request);
  if (is_enough(plan, request)) return plan;
  throw Error(ErrorCode::too_little_memory,
              std::to_string(request.memory_bytes) + " bytes of memory are too few to sort " +
                  std::to_string(request.input_bytes) + " bytes in two passes with " +
                  std::to_string(request.threads) + " threads; give at least " +
                  std::to_string(least_memory_bytes(request)) +
                  (request.threads > 1 ? ", or fewer threads" : ""));
}

std::uint64_t one_pass_memory_bytes(const PlanRequest& request) {
  const std::uint64_t blocks = OnePassPlan::blocks(request.threads, request.queue_depth);
  return request.input_bytes + scratch_for(request, request.input_bytes) + blocks * largest_block;
}

std::uint64_t default_memory_bytes() {
  const std::uint64_t limit = read_number("/sys/fs/cgroup/memory.max");
  const std::uint64_t used = read_number("/sys/fs/cgroup/memory.current");
  const std::uint64_t allowed = limit == UINT64_MAX || used >= limit ? UINT64_MAX : limit - used;
  return std::min(available_memory_bytes(), allowed) / 5 * 4;
}

std::vector<Choice> explain(const ExternalPlan& plan) {
  const auto bytes = [](std::uint64_t value) { return std::to_string(value) + " bytes"; };
  std::vector<Choice> choices = {
      {"memory", bytes(plan.memory_bytes), "given, or four fifths of what is available"},
      {"threads", std::to_string(plan.threads), "given, or all that this process may use"},
      {"queue depth", std::to_string(plan.queue_depth),
       "transfers of each kind under way at once; " + plan.queue_depth_reason},
      {"input and output", plan.direct ? "direct" : "through the page cache", plan.direct_reason},
      {"block", bytes(plan.block_bytes),
       std::to_string(plan.blocks) + " of them, for input reads and output writes"},
      {"partitions", std::to_string(plan.partitions), "so that about five fit in memory at once"},
      {"chunk", bytes(plan.chunk_bytes), std::to_string(plan.chunks) + " of them, for temporary transfers"},
      {"low water", std::to_string(plan.low_water_chunks) + " chunks", "fewer free ones send data to disk"},
      {"largest partition", bytes(plan.partition_limit_bytes), "a larger one is split again"},
      {"equal keys", plan.stable ? "in the order of the input" : "in any order",
       plan.stable ? "asked for: one thread distributes" : "not asked to be stable"},
  };
  if (plan.longest_line_bytes != 0) {
    choices.push_back({"longest line", bytes(plan.longest_line_bytes),
                       "with its newline: a chunk; more memory allows longer ones"});
  }
  return choices;
}

}  // namespace sortcore
