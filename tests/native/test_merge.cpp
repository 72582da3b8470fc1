#include "check.hpp"
#include "shapes.hpp"
#include "sortcore/records/merge.hpp"

using namespace sortcore;
using shapes::Bytes;

THREADED_TEST(merge_is_a_stable_sort_of_sorted_runs) {
  RandomSequence random(13);
  for (int round = 0; round < (check::sanitized ? 90 : 300); ++round) {
    const RecordFormat format = shapes::random_format(random);
    std::vector<Bytes> runs(random.below(9));
    Bytes all;
    for (Bytes& run : runs) {
      run = shapes::expected_sorted(
          shapes::random_records(format, random.below(200), shapes::all_keys[round % 9], random), format);
      all.insert(all.end(), run.begin(), run.end());
    }
    const std::vector<std::span<const std::byte>> views(runs.begin(), runs.end());
    Bytes merged(all.size());
    merge_runs(views, merged, format, 1 + round % 3);
    CHECK(merged == shapes::expected_sorted(all, format));
  }
  Bytes half(50), out(100);
  const std::span<const std::byte> view(half);
  CHECK_THROWS(bad_record, merge_runs({&view, 1}, out, RecordFormat{}));
}
