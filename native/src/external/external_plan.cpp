#include "sortcore/external/external_plan.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "counted.hpp"
#include "sortcore/control_groups.hpp"
#include "sortcore/error.hpp"
#include "sortcore/external/one_pass.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/records/record_array.hpp"
#include "sortcore/records/record_sort.hpp"

namespace sortcore {
namespace {

constexpr std::size_t largest_grain = 1'048'576;
constexpr std::uint64_t fewest_grains = 200;  // of all memory, or there would be too few blocks and chunks
// The least size of padded blocks and chunks: the grain of 100-byte records. Larger ones waste less.
constexpr std::size_t least_padded = 102'400;
// Sizes of transfers, and the greatest share of the memory for blocks.
struct Transfers {
  std::size_t largest_block;
  std::size_t largest_chunk;
  std::uint64_t block_share;
};
// Large transfers suit every disk: a block is 40,960 records of 100 bytes, and 1,000 pages. Small ones leave
// more memory for records, and are chosen if that is a twentieth of the input, or all that does not fit.
constexpr Transfers large_transfers{4'096'000, 1'024'000, 6};
constexpr Transfers small_transfers{1'024'000, 204'800, 12};
constexpr std::uint64_t worthwhile_share = 20;
constexpr std::uint64_t fewest_partitions = 16;
constexpr std::uint64_t most_partitions = 16'384;
// Shares of the memory for records: a partition takes a fifth, so that one is sorted while others are read
// and written. The chunks being filled take a third, or where memory is short a sixth; the reserve for bursts
// a sixteenth. Smaller partitions would be more, their chunks smaller, and the disk slower. A partition may
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

// Least size of blocks and chunks.
std::size_t least_transfer_bytes(std::size_t record_bytes) {
  return std::max<std::size_t>(round_up_to_pages(record_bytes), least_padded);
}

// A block of input begins on the page of its first record.
std::size_t block_size(const ExternalPlan& plan, std::uint64_t bytes, std::size_t most) {
  if (!plan.padded) return whole_grains(bytes, plan.grain_bytes, most);
  const std::size_t least = least_transfer_bytes(plan.grain_bytes) + page_bytes;
  return std::max(whole_grains(bytes, page_bytes, most), least);
}

std::size_t chunk_size(const ExternalPlan& plan, std::uint64_t bytes, std::size_t most) {
  if (!plan.padded) return whole_grains(bytes, plan.grain_bytes, most);
  const std::size_t pages =
      std::max(whole_grains(bytes, page_bytes, most), least_transfer_bytes(plan.grain_bytes));
  return round_up_to_pages(pages / plan.grain_bytes * plan.grain_bytes);
}

std::uint64_t less(std::uint64_t value, std::uint64_t by) { return value > by ? value - by : 0; }

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

// What `ulimit -v` leaves; most of it is for what is reserved beside: stacks and arenas of threads, mapped
// inputs.
std::uint64_t address_space_for_sorting() {
  rlimit limit{};
  std::uint64_t pages = 0;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX;
  std::ifstream("/proc/self/statm") >> pages;
  return less(limit.rlim_cur, pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) / 4;
}

std::uint64_t scratch_for(const PlanRequest& request, std::uint64_t bytes) {
  return scratch_bytes(bytes / request.format.record_bytes, request.threads);
}

// A sort in memory numbers records with 32 bits.
std::uint64_t most_bytes_in_memory(const PlanRequest& request) {
  return request.format.record_bytes * max_records_in_memory;
}

bool is_enough(const ExternalPlan& plan) {
  const std::size_t needed =
      plan.partitions * plan.threads + plan.low_water_chunks + plan.queue_depth + plan.threads;
  return plan.chunks >= 2 * needed && plan.partition_limit_bytes >= plan.chunk_bytes;
}

// Bytes of the input that memory holds, without the empty part of chunks that are not full.
std::uint64_t held_bytes(const ExternalPlan& plan, const PlanRequest& request) {
  const PartFilled part_filled = part_filled_chunks(plan.partitions * plan.threads);
  const std::size_t capacity = plan.chunk_capacity_bytes();
  if (less(plan.chunks, part_filled.if_all_fits) * capacity >= request.input_bytes)
    return request.input_bytes;
  return std::min<std::uint64_t>(less(plan.chunks, part_filled.if_not) * capacity, request.input_bytes);
}

ExternalPlan begin_plan(const PlanRequest& request, const Grain& grain) {
  ExternalPlan plan;
  plan.memory_bytes = request.memory_bytes;
  plan.threads = request.threads;
  plan.queue_depth = request.queue_depth;
  plan.queue_depth_reason = request.queue_depth_reason;
  plan.stable = request.stable;
  plan.packing = request.packing.packing;
  plan.packing_reason = request.packing.reason;
  // Most threads move chunks when a partition is split: as many read as write. Otherwise one may drain a
  // partition.
  plan.pack_buffers = plan.packing == Packing::never ? 0 : 2 * plan.queue_depth;
  plan.grain_bytes = grain.bytes;
  plan.direct = grain.direct;
  plan.padded = grain.padded;
  plan.wanted_direct = request.wants_direct;
  return plan;
}

// The following take their share of the `memory` left, and return the rest.
std::uint64_t plan_blocks(ExternalPlan& plan, const PlanRequest& request, const Transfers& transfers,
                          std::uint64_t memory) {
  plan.blocks = plan.threads + 2 * plan.queue_depth + 1 + request.outputs;
  plan.block_bytes =
      block_size(plan, memory / (transfers.block_share * plan.blocks), transfers.largest_block);
  return less(memory, plan.blocks * plan.block_bytes);
}

// Short records need more room for their keys than for themselves. With much memory partitions are as few as
// possible, and need no more of it than three times the need of such a one.
std::uint64_t plan_scratch(ExternalPlan& plan, const PlanRequest& request, std::uint64_t memory) {
  const std::uint64_t largest = 3 * divide_up(request.input_bytes, fewest_partitions) + plan.grain_bytes;
  plan.partition_limit_bytes =
      std::min({memory / largest_share, std::max<std::uint64_t>(largest, small_transfers.largest_chunk),
                request.input_bytes + plan.grain_bytes, most_bytes_in_memory(request)});
  const std::uint64_t most = scratch_for(request, plan.grain_bytes) + memory / scratch_share;
  while (scratch_for(request, plan.partition_limit_bytes) > most) plan.partition_limit_bytes /= 2;
  plan.scratch_bytes = scratch_for(request, plan.partition_limit_bytes);
  return less(memory, plan.scratch_bytes);
}

void plan_partitions(ExternalPlan& plan, const PlanRequest& request, std::uint64_t memory) {
  const std::uint64_t typical = std::min(memory / partitions_in_memory, plan.partition_limit_bytes / 2);
  const std::uint64_t wanted = divide_up(request.input_bytes, std::max<std::uint64_t>(typical, 1));
  const std::uint64_t least_chunk = plan.padded ? least_transfer_bytes(plan.grain_bytes) : plan.grain_bytes;
  const std::uint64_t most =
      std::max<std::uint64_t>(memory / (least_filling_share * plan.threads * least_chunk), 1);
  plan.partitions = static_cast<std::size_t>(
      std::min(std::clamp<std::uint64_t>(wanted, fewest_partitions, most_partitions), most));
}

// Records are numbered by their place in all chunks.
std::size_t most_chunks(const ExternalPlan& plan, const PlanRequest& request, std::uint64_t memory) {
  const RecordArray numbers(nullptr, request.format.record_bytes, plan.chunk_bytes);
  return static_cast<std::size_t>(
      std::min(memory / plan.chunk_bytes, max_records_in_memory / numbers.first_of_stretch(1)));
}

void plan_chunks(ExternalPlan& plan, const PlanRequest& request, const Transfers& transfers,
                 std::uint64_t memory) {
  const std::uint64_t largest =
      std::min<std::uint64_t>({transfers.largest_chunk, plan.block_bytes, plan.partition_limit_bytes});
  for (const std::uint64_t share : filling_shares) {
    plan.chunk_bytes = chunk_size(plan, memory / (share * plan.threads * plan.partitions),
                                  static_cast<std::size_t>(largest));
    plan.chunks = static_cast<std::size_t>(less(most_chunks(plan, request, memory), plan.pack_buffers));
    plan.low_water_chunks = std::max<std::size_t>(plan.chunks / free_share, plan.queue_depth + plan.threads);
    if (is_enough(plan)) break;
  }
}

ExternalPlan divide_memory(const PlanRequest& request, const Grain& grain, const Transfers& transfers) {
  ExternalPlan plan = begin_plan(request, grain);
  const std::uint64_t beside_blocks = plan_blocks(plan, request, transfers, request.memory_bytes);
  const std::uint64_t for_chunks = plan_scratch(plan, request, beside_blocks);
  plan_partitions(plan, request, for_chunks);
  plan_chunks(plan, request, transfers, for_chunks);
  return plan;
}

ExternalPlan divide_memory(const PlanRequest& request) {
  const Grain grain = choose_grain(request);
  const ExternalPlan large = divide_memory(request, grain, large_transfers);
  const ExternalPlan small = divide_memory(request, grain, small_transfers);
  const std::uint64_t held = held_bytes(small, request);
  const std::uint64_t gained = less(held, held_bytes(large, request));
  const bool pays =
      gained > 0 && (held == request.input_bytes || gained > request.input_bytes / worthwhile_share);
  return pays && is_enough(small) ? small : large;
}

PlanRequest without_packing(PlanRequest request) {
  request.packing = {Packing::never, "this memory has no room for packing"};
  return request;
}

// A sufficient amount of memory above the request's, found by halving, where a little less is not enough.
std::uint64_t least_memory_bytes(PlanRequest request) {
  constexpr std::uint64_t most = std::uint64_t{1} << 50, precision = 1 << 16;
  const auto enough = [&](std::uint64_t bytes) {
    request.memory_bytes = bytes;
    return is_enough(divide_memory(request));
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

PartFilled part_filled_chunks(std::uint64_t opened) {
  const auto chance = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(opened)));
  return {opened / 2 + chance + 1, opened + 1};
}

std::size_t Grain::output_bytes() const noexcept { return padded ? page_bytes : bytes; }

Grain choose_grain(const PlanRequest& request) {
  const std::size_t record_bytes = request.format.record_bytes;
  const std::size_t bytes = std::lcm(record_bytes, page_bytes);
  const std::uint64_t most = request.memory_bytes / fewest_grains;
  if (request.wants_direct && bytes <= std::min<std::uint64_t>(largest_grain, most))
    return {bytes, true, false};
  const Grain padded{record_bytes, true, true};
  if (request.wants_direct && least_transfer_bytes(record_bytes) <= most &&
      is_enough(divide_memory(request, padded, large_transfers)))
    return padded;
  return {record_bytes, false, false};
}

ExternalPlan plan_two_passes(const PlanRequest& request) {
  ExternalPlan plan = divide_memory(request);
  if (is_enough(plan)) return plan;
  if (request.packing.packing != Packing::never) return plan_two_passes(without_packing(request));
  throw Error(ErrorCode::too_little_memory,
              "sorting " + counted(request.input_bytes, "byte") + " in two passes with " +
                  counted(request.threads, "thread") + " does not fit into " +
                  counted(request.memory_bytes, "byte") + " of memory; give at least " +
                  std::to_string(least_memory_bytes(request)) +
                  (request.threads > 1 ? ", or fewer threads" : ""));
}

std::uint64_t one_pass_memory_bytes(const PlanRequest& request) {
  const std::uint64_t blocks = OnePassPlan::blocks(request.threads, request.queue_depth);
  return request.input_bytes + scratch_for(request, request.input_bytes) +
         blocks * large_transfers.largest_block;
}

bool fits_in_one_pass(const PlanRequest& request) {
  return one_pass_memory_bytes(request) <= request.memory_bytes &&
         request.input_bytes <= most_bytes_in_memory(request);
}

std::uint64_t default_memory_bytes(bool within_address_space) {
  return std::min(memory_left_bytes() / 5 * 4,
                  within_address_space ? address_space_for_sorting() : UINT64_MAX);
}

}  // namespace sortcore
