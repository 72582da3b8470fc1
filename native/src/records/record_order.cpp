#include "sortcore/records/record_order.hpp"

#include <algorithm>
#include <string>

#include "records/ordering.hpp"
#include "records/varying_record_keys.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {

void record_order(std::span<const std::byte> records, std::uint32_t record_bytes, unsigned threads,
                  std::span<std::uint32_t> order) {
  const RecordFormat format{record_bytes, 0, record_bytes};
  format.check();
  const std::uint64_t count = format.whole_records(records.size());
  if (count != order.size() || count > max_records_in_memory)
    throw Error(ErrorCode::bad_input, "there is room for the order of " + std::to_string(order.size()) +
                                          " records, not " + std::to_string(count));
  threads = resolve_threads(threads);
  const RecordRun all{0, count};
  Ordering<VaryingRecordKeys> ordering;
  ordering.distribute(VaryingRecordKeys(records.data(), record_bytes, count), {&all, 1}, threads, nullptr);
  for_each_in_parallel(ordering.buckets(), useful_threads(count, threads), [&](std::uint64_t bucket) {
    const auto workspace = ordering.workspace();
    const std::uint64_t begin = ordering.start(bucket);
    std::copy_n(ordering.order_of(bucket, *workspace), ordering.start(bucket + 1) - begin,
                order.data() + begin);
  });
}

}  // namespace sortcore
