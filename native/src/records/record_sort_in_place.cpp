#include <cstring>
#include <vector>

#include "records/gather.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/records/record_sort.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

void copy_back(std::span<const std::byte> from, std::byte* to, unsigned threads) {
  run_parallel(threads, [&](unsigned index) {
    const Range part = part_of(from.size(), index, threads);
    std::memcpy(to + part.begin, from.data() + part.begin, part.end - part.begin);
  });
}

// Moves each record to its place in the order, around one cycle of the permutation after another.
void follow_cycles(std::span<std::byte> records, std::size_t record_bytes,
                   std::span<const std::uint32_t> order, Progress* progress) {
  constexpr std::size_t records_between_polls = 1 << 16;
  std::vector<bool> is_placed(order.size());
  std::vector<std::byte> first(record_bytes);
  const auto at = [&](std::size_t index) { return records.data() + index * record_bytes; };
  std::size_t moved = 0;
  for (std::size_t start = 0; start < order.size(); ++start) {
    if (is_placed[start]) continue;
    std::memcpy(first.data(), at(start), record_bytes);
    std::size_t to = start;
    for (; order[to] != start; to = order[to]) {
      std::memcpy(at(to), at(order[to]), record_bytes);
      is_placed[to] = true;
      // A cancel in the middle would lose the records, so here progress is only counted.
      if (++moved % records_between_polls == 0) add_progress(progress, records_between_polls * record_bytes);
    }
    std::memcpy(at(to), first.data(), record_bytes);
    is_placed[to] = true;
  }
}

}  // namespace

void sort_records_in_place(std::span<std::byte> records, const RecordFormat& format, unsigned threads,
                           std::uint64_t spare_memory, Progress* progress) {
  if (progress != nullptr) progress->begin_phase(0, records.size());
  KeySorter sorter(format, threads);
  sorter.sort(records, progress);
  if (spare_memory < records.size())
    return follow_cycles(records, format.record_bytes, sorter.order(), progress);
  Buffer sorted(records.size());
  sorter.gather_all(sorted.first(records.size()), progress);
  copy_back(sorted.first(records.size()), records.data(), resolve_threads(threads));
}

}  // namespace sortcore
