#include "check.hpp"
#include "shapes.hpp"
#include "sortcore/external/external_plan.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/records/record_sort.hpp"

using namespace sortcore;

namespace {

// Direct transfers are whole pages; a block of input has room for a record and for the bytes before it in its
// page.
void check_units(const ExternalPlan& plan) {
  const std::size_t unit = plan.padded ? page_bytes : plan.grain_bytes;
  CHECK(plan.block_bytes % unit == 0 && plan.chunk_bytes % unit == 0);
  if (plan.direct) CHECK(unit % page_bytes == 0);
  if (plan.padded) CHECK(plan.direct && plan.block_bytes >= plan.grain_bytes + page_bytes);
  CHECK(plan.chunk_capacity_bytes() % plan.grain_bytes == 0 && plan.chunk_capacity_bytes() > 0);
  CHECK(plan.chunk_bytes - plan.chunk_capacity_bytes() < page_bytes);
}

bool is_enough_memory(const PlanRequest& request) {
  try {
    plan_two_passes(request);
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::too_little_memory);
    return false;
  }
}

}  // namespace

TEST(records_of_any_size_are_transferred_directly) {
  PlanRequest request;
  request.input_bytes = 10'000'000'000;
  request.memory_bytes = 400'000'000;
  request.threads = 2;
  for (std::uint32_t record_bytes = 1; record_bytes <= 70'000; record_bytes += 1 + record_bytes / 50) {
    request.format = {.record_bytes = record_bytes, .key_offset = 0, .key_bytes = 1};
    CHECK(choose_grain(request).direct);
    check_units(plan_two_passes(request));
    request.wants_direct = false;
    CHECK(!plan_two_passes(request).direct);
    request.wants_direct = true;
  }
  request.format = {.record_bytes = 257, .key_offset = 0, .key_bytes = 1};
  CHECK(choose_grain(request).padded);
  request.memory_bytes = 12'000'000;
  CHECK(!choose_grain(request).direct);
}

TEST(padding_needs_no_more_memory_than_the_page_cache) {
  RandomSequence random(49);
  int padded = 0;
  for (int round = 0; round < 2'000; ++round) {
    PlanRequest request;
    request.format = {.record_bytes = static_cast<std::uint32_t>(1 + random.below(90'000)),
                      .key_offset = 0,
                      .key_bytes = 1};
    request.input_bytes = random.next() >> (25 + random.below(30));
    request.memory_bytes = 15'000'000 + (random.next() >> (32 + random.below(16)));
    request.threads = static_cast<unsigned>(1 + random.below(64));
    request.queue_depth = static_cast<unsigned>(1 + random.below(16));
    padded += choose_grain(request).padded ? 1 : 0;
    const bool enough = is_enough_memory(request);
    const bool direct = choose_grain(request).direct && !choose_grain(request).padded;
    request.wants_direct = false;
    if (!direct && is_enough_memory(request)) CHECK(enough);
  }
  CHECK(padded > 500);
}

TEST(the_memory_said_to_be_enough_is) {
  PlanRequest request;
  request.input_bytes = 10'000'000'000;
  request.memory_bytes = 1'000'000;
  request.threads = 16;
  try {
    plan_two_passes(request);
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::too_little_memory);
    const std::string words = error.what(), before = "give at least ";
    request.memory_bytes = std::stoull(words.substr(words.find(before) + before.size()));
  }
  CHECK(plan_two_passes(request).chunks > 0);
  request.memory_bytes -= request.memory_bytes / 100;
  CHECK_THROWS(too_little_memory, plan_two_passes(request));
}

TEST(plans_divide_the_memory_given) {
  RandomSequence random(48);
  for (int round = 0; round < 3'000; ++round) {
    PlanRequest request;
    request.format = shapes::random_format(random);
    request.input_bytes = random.next() >> (20 + random.below(40));
    request.memory_bytes = 1'000'000 + (random.next() >> (28 + random.below(16)));
    request.threads = static_cast<unsigned>(1 + random.below(64));
    request.queue_depth = static_cast<unsigned>(1 + random.below(16));
    request.packing.packing = static_cast<Packing>(random.below(3));
    ExternalPlan plan;
    try {
      plan = plan_two_passes(request);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::too_little_memory);
      continue;
    }
    CHECK(plan.blocks * plan.block_bytes + (plan.chunks + plan.pack_buffers) * plan.chunk_bytes +
              plan.scratch_bytes <=
          request.memory_bytes);
    CHECK(plan.pack_buffers == (plan.packing == Packing::never ? 0 : 2 * plan.queue_depth));
    check_units(plan);
    CHECK(plan.chunk_bytes <= plan.block_bytes);
    // Distributors cannot keep all chunks: see chunk_store.hpp. A partition is split into at least two.
    CHECK(plan.chunks > (2 * std::max<std::size_t>(plan.partitions, 2) + 1) * plan.threads);
    CHECK(plan.partitions >= 1 && plan.partition_limit_bytes >= plan.chunk_bytes);
  }
}

// A sort in memory numbers records with 32 bits: larger inputs take two passes, which use no more memory for
// records than they can number.
TEST(no_plan_has_more_records_in_memory_than_can_be_numbered) {
  PlanRequest request;
  request.format = {1, 0, 1};
  request.input_bytes = 5'000'000'000;
  request.memory_bytes = 200'000'000'000;
  CHECK(one_pass_memory_bytes(request) <= request.memory_bytes);
  CHECK(!fits_in_one_pass(request));
  request.input_bytes = 4'000'000'000;
  CHECK(fits_in_one_pass(request));
  request.input_bytes = 500'000'000'000;
  const ExternalPlan plan = plan_two_passes(request);
  CHECK(plan.chunks * plan.chunk_bytes <= max_records_in_memory);
  CHECK(plan.chunks * plan.chunk_bytes > max_records_in_memory / 10 * 9);
}

// The numbers of a chunk begin at a power of two, so up to half of them are unused.
TEST(padded_chunks_are_no_more_than_can_be_numbered) {
  PlanRequest request;
  request.format = {.record_bytes = 300'001, .key_offset = 0, .key_bytes = 10};
  request.input_bytes = std::uint64_t{1} << 60;
  request.memory_bytes = std::uint64_t{1} << 53;
  request.threads = 64;
  const ExternalPlan plan = plan_two_passes(request);
  const RecordArray numbers(nullptr, request.format.record_bytes, plan.chunk_bytes);
  CHECK(plan.padded);
  CHECK(numbers.first_of_stretch(plan.chunks) <= max_records_in_memory);
  CHECK(numbers.first_of_stretch(plan.chunks) > max_records_in_memory / 10 * 9);
}
