// The order of whole records, made of zero-padded texts and numbers, compared with std::stable_sort.
#include "sortcore/records/record_order.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "check.hpp"
#include "random_sequence.hpp"

namespace {
using namespace sortcore;

// Letters, zeros and numbers of few bits; one record in `odd_one_in` is random bytes.
std::vector<std::byte> random_records(RandomSequence& random, std::uint64_t count, std::size_t bytes) {
  const std::uint64_t odd_one_in = 1 + random.below(2'000);
  const std::size_t text_bytes = random.below(bytes + 1), letters = 1 + random.below(20);
  std::vector<std::byte> records(count * bytes);
  for (std::uint64_t i = 0; i < count; ++i) {
    const bool is_odd = random.below(odd_one_in) == 0;
    const std::size_t length = random.below(text_bytes + 1);
    for (std::size_t at = 0; at < bytes; ++at) {
      std::uint64_t value = at < length ? 'a' + random.below(letters) : 0;
      if (at >= text_bytes) value = random.below(1 + at % 7);
      records[i * bytes + at] = static_cast<std::byte>(is_odd ? random.next() : value);
    }
  }
  return records;
}

std::vector<std::uint32_t> expected_order(const std::vector<std::byte>& records, std::size_t bytes) {
  std::vector<std::uint32_t> order(records.size() / bytes);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return std::memcmp(&records[a * bytes], &records[b * bytes], bytes) < 0;
  });
  return order;
}
}  // namespace

THREADED_TEST(whole_records_are_ordered_as_stable_sort_has_them) {
  RandomSequence random(94);
  for (int round = 0; round < (check::sanitized ? 12 : 80); ++round) {
    const std::size_t bytes = 1 + random.below(round % 2 == 0 ? 10 : 50);
    const std::uint64_t count = random.below(round % 3 == 0 ? 100 : 90'000);
    const std::vector<std::byte> records = random_records(random, count, bytes);
    std::vector<std::uint32_t> order(count);
    record_order(records, static_cast<std::uint32_t>(bytes), 3, order);
    CHECK(order == expected_order(records, bytes));
  }
}

TEST(an_order_needs_room_for_each_record) {
  const std::vector<std::byte> records(30);
  std::vector<std::uint32_t> order(2);
  CHECK_THROWS(bad_input, record_order(records, 10, 1, order));
  CHECK_THROWS(bad_record, record_order(records, 7, 1, order));
}
