#include "sortcore/partition.hpp"

#include <bit>
#include <cstring>
#include <string>

#include "key_prefix.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

// The number of values below `prefix` in a sorted array of 2^levels - 1, without a branch that depends on it.
std::size_t count_below(const std::uint64_t* values, unsigned levels, std::uint64_t prefix) {
  std::size_t base = 0;
  for (std::size_t half = std::size_t{1} << levels >> 1; half != 0; half >>= 1) {
    base += values[base + half - 1] < prefix ? half : 0;
  }
  return base;
}

template <std::size_t Bytes>
void scatter_records(const std::byte* from, std::span<const PartitionId> ids, std::size_t record_bytes,
                     std::byte** cursors) {
  const std::size_t bytes = Bytes != 0 ? Bytes : record_bytes;
  for (const PartitionId id : ids) {
    std::memcpy(cursors[id], from, bytes);
    cursors[id] += bytes;
    from += bytes;
  }
}

}  // namespace

Partitioner::Partitioner(const RecordFormat& format, const Splitters& splitters)
    : format_(format), splitters_(splitters) {
  format.check();
  if (splitters.key_bytes() != format.key_bytes) {
    throw Error(ErrorCode::bad_input, "splitters of " + std::to_string(splitters.key_bytes()) +
                                          " bytes cannot divide keys of " + std::to_string(format.key_bytes));
  }
  if (partitions() > max_partitions) {
    throw Error(ErrorCode::bad_input, std::to_string(partitions()) + " partitions are more than the " +
                                          std::to_string(max_partitions) + " there can be");
  }
  levels_ = static_cast<unsigned>(std::bit_width(splitters.boundaries()));
  for (std::size_t i = 0; i < splitters.boundaries(); ++i) {
    prefixes_.push_back(load_big_endian(splitters.key(i).data(), format.key_bytes));
  }
  prefixes_.resize(std::size_t{1} << levels_, UINT64_MAX);
}

void Partitioner::classify(std::span<const std::byte> records, std::span<PartitionId> ids,
                           std::span<std::uint64_t> counts) const {
  const KeyPrefix prefix_of(format_);
  const std::byte* record = records.data();
  for (PartitionId& id : ids) {
    const std::uint64_t prefix = prefix_of.of(record);
    std::size_t partition = count_below(prefixes_.data(), levels_, prefix);
    if (prefixes_[partition] == prefix)
      partition = after_ties(record + format_.key_offset, partition, prefix);
    id = static_cast<PartitionId>(partition);
    ++counts[partition];
    record += format_.record_bytes;
  }
}

// The partition of a key whose prefix is that of boundary `first`, and perhaps of some that follow.
std::size_t Partitioner::after_ties(const std::byte* key, std::size_t first,
                                    std::uint64_t prefix) const noexcept {
  std::size_t partition = first;
  while (partition < splitters_.boundaries() && prefixes_[partition] == prefix &&
         splitters_.is_above(key, partition)) {
    ++partition;
  }
  return partition;
}

void Partitioner::scatter(std::span<const std::byte> records, std::span<const PartitionId> ids,
                          std::span<std::byte*> cursors) const {
  const auto copy = format_.record_bytes == 100 ? scatter_records<100> : scatter_records<0>;
  copy(records.data(), ids, format_.record_bytes, cursors.data());
}

std::vector<std::uint64_t> Partitioner::group(std::span<const std::byte> in, std::span<std::byte> out,
                                              unsigned threads) const {
  const std::uint64_t records = format_.whole_records(in.size());
  if (in.size() != out.size()) throw Error(ErrorCode::bad_input, "input and output differ in size");
  threads = resolve_threads(threads);
  std::vector<PartitionId> ids(records);
  std::vector<std::vector<std::uint64_t>> counts(threads, std::vector<std::uint64_t>(partitions()));
  const auto input_of = [&](Range part) {
    return in.subspan(part.begin * format_.record_bytes, (part.end - part.begin) * format_.record_bytes);
  };
  const auto ids_of = [&](Range part) { return std::span(ids).subspan(part.begin, part.end - part.begin); };
  run_parallel(threads, [&](unsigned index) {
    const Range part = part_of(records, index, threads);
    classify(input_of(part), ids_of(part), counts[index]);
  });

  // Within a partition the threads' records follow each other in input order.
  std::vector<std::uint64_t> offsets(partitions() + 1);
  std::vector<std::vector<std::byte*>> cursors(threads, std::vector<std::byte*>(partitions()));
  std::uint64_t next = 0;
  for (std::size_t partition = 0; partition < partitions(); ++partition) {
    offsets[partition] = next;
    for (unsigned index = 0; index < threads; ++index) {
      cursors[index][partition] = out.data() + next * format_.record_bytes;
      next += counts[index][partition];
    }
  }
  offsets.back() = next;
  run_parallel(threads, [&](unsigned index) {
    const Range part = part_of(records, index, threads);
    scatter(input_of(part), ids_of(part), cursors[index]);
  });
  return offsets;
}

}  // namespace sortcore
