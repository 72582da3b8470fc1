#include "sortcore/records/partition.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "records/key_prefix.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::size_t searches_at_once = 16;

// Descends the sorted, padded prefixes for several keys at once, without a branch, so that their loads
// overlap. Returns the number of prefixes below each key's.
using Prefixes = std::array<std::uint64_t, searches_at_once>;
using Places = std::array<std::size_t, searches_at_once>;
void count_below(std::span<const std::uint64_t> sorted, const Prefixes& prefixes, Places& places) {
  places.fill(0);
  for (std::size_t step = sorted.size() / 2; step > 0; step /= 2) {
    for (std::size_t i = 0; i < searches_at_once; ++i) {
      places[i] += sorted[places[i] + step - 1] < prefixes[i] ? step : 0;
    }
  }
}

}  // namespace

Partitioner::Partitioner(const RecordFormat& format, const Splitters& splitters)
    : format_(format), splitters_(splitters) {
  format.check();
  if (splitters.key_bytes() != format.key_bytes) {
    throw Error(ErrorCode::bad_input, "boundaries on keys of " + std::to_string(splitters.key_bytes()) +
                                          " bytes for keys of " + std::to_string(format.key_bytes));
  }
  if (splitters.partitions() > max_partitions) {
    throw Error(ErrorCode::bad_input, std::to_string(splitters.partitions()) + " partitions; at most " +
                                          std::to_string(max_partitions) + " are possible");
  }
  // A power of two above the number of boundaries, so that the search always ends on a padding entry at the
  // latest.
  prefixes_.assign(std::bit_ceil(splitters.boundaries() + 1), UINT64_MAX);
  for (std::size_t i = 0; i < splitters.boundaries(); ++i) {
    prefixes_[i] = load_big_endian(splitters.key(i).data(), std::min<std::size_t>(format.key_bytes, 8));
  }
}

void Partitioner::classify(std::span<const std::byte> records, std::span<PartitionId> ids,
                           std::span<std::uint64_t> counts) const {
  const std::uint64_t count = format_.whole_records(records.size());
  const KeyPrefix prefix(format_);
  Prefixes prefixes{};
  Places places;
  for (std::uint64_t first = 0; first < count; first += searches_at_once) {
    const std::size_t batch = std::min<std::uint64_t>(searches_at_once, count - first);
    const std::byte* const from = records.data() + first * format_.record_bytes;
    for (std::size_t i = 0; i < batch; ++i) prefixes[i] = prefix.of(from + i * format_.record_bytes);
    count_below(prefixes_, prefixes, places);
    for (std::size_t i = 0; i < batch; ++i) {
      std::size_t place = places[i];
      if (place < splitters_.boundaries() && prefixes_[place] == prefixes[i]) [[unlikely]] {
        place = splitters_.partition_of(from + i * format_.record_bytes + format_.key_offset);
      }
      ids[first + i] = static_cast<PartitionId>(place);
      ++counts[place];
    }
  }
}

void Partitioner::scatter(std::span<const std::byte> records, std::span<const PartitionId> ids,
                          std::span<std::byte*> cursors) const {
  const std::size_t record_bytes = format_.record_bytes;
  const std::byte* from = records.data();
  for (std::size_t i = 0; from != records.data() + records.size(); ++i, from += record_bytes) {
    std::byte*& to = cursors[ids[i]];
    std::memcpy(to, from, record_bytes);
    to += record_bytes;
  }
}

std::vector<std::uint64_t> Partitioner::group(std::span<const std::byte> in, std::span<std::byte> out,
                                              unsigned threads) const {
  if (in.size() != out.size()) throw Error(ErrorCode::bad_input, "input and output differ in size");
  threads = resolve_threads(threads);
  const std::uint64_t count = format_.whole_records(in.size());
  const std::size_t record_bytes = format_.record_bytes;
  std::vector<PartitionId> ids(count);
  std::vector<std::vector<std::uint64_t>> counts(threads, std::vector<std::uint64_t>(partitions()));
  const auto part = [&](unsigned thread) { return part_of(count, thread, threads); };
  const auto records_of = [&](const Range& range) {
    return in.subspan(range.begin * record_bytes, (range.end - range.begin) * record_bytes);
  };
  run_parallel(threads, [&](unsigned thread) {
    const Range range = part(thread);
    classify(records_of(range), std::span(ids).subspan(range.begin, range.end - range.begin), counts[thread]);
  });
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::vector<std::byte*>> cursors(threads);
  for (std::size_t p = 0; p < partitions(); ++p) {
    std::uint64_t next = offsets.back();
    for (unsigned thread = 0; thread < threads; ++thread) {
      cursors[thread].push_back(out.data() + next * record_bytes);
      next += counts[thread][p];
    }
    offsets.push_back(next);
  }
  run_parallel(threads, [&](unsigned thread) {
    const Range range = part(thread);
    scatter(records_of(range), std::span(ids).subspan(range.begin, range.end - range.begin), cursors[thread]);
  });
  return offsets;
}

}  // namespace sortcore
