#include "check.hpp"
#include "shapes.hpp"
#include "sortcore/external/external_plan.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/records/record_sort.hpp"

using namespace sortcore;

TEST(the_memory_said_to_be_enough_is) {
  for (const std::uint64_t line_bytes : {0, 100}) {
    PlanRequest request;
    request.input_bytes = 10'000'000'000;
    request.memory_bytes = 1'000'000;
    request.threads = 16;
    if (line_bytes != 0) request.format = {1, 0, 1};
    request.mean_line_bytes = line_bytes;
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
    if (random.below(3) == 0) {
      request.format = {1, 0, 1};
      request.mean_line_bytes = 1 + random.below(500);
    }
    ExternalPlan plan;
    try {
      plan = plan_two_passes(request);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::too_little_memory);
      continue;
    }
    CHECK(plan.blocks * plan.block_bytes + plan.chunks * plan.chunk_bytes + plan.scratch_bytes <=
          request.memory_bytes);
    CHECK(plan.block_bytes % plan.grain_bytes == 0 && plan.chunk_bytes % plan.grain_bytes == 0);
    CHECK(plan.chunk_bytes <= plan.block_bytes);
    // Distributors cannot keep all chunks: see chunk_store.hpp. A partition is split into two at least.
    CHECK(plan.chunks > (2 * std::max<std::size_t>(plan.partitions, 2) + 1) * plan.threads);
    CHECK(plan.partitions >= 1 && plan.partition_limit_bytes >= plan.chunk_bytes);
    if (plan.direct) CHECK(plan.grain_bytes % page_bytes == 0);
    if (request.mean_line_bytes != 0)
      CHECK(plan.line_stride_bytes > 0 &&
            plan.line_stride_bytes + plan.longest_line_bytes < plan.block_bytes);
  }
}

// A sort in memory numbers records with 32 bits: what is larger goes in two passes, and those do not take
// more memory for records than they can number.
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
