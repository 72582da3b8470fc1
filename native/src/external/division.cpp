#include "sortcore/external/division.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "sortcore/records/splitters.hpp"

namespace sortcore {
namespace {

constexpr std::size_t sample_keys_per_partition = 256;

Splitters sampled_splitters(const RecordFormat& format, BlockSource& source, std::size_t partitions,
                            std::uint64_t& bytes_read) {
  std::vector<std::byte> keys;
  std::uint64_t seed = 0;
  bytes_read += source.sample(sample_keys_per_partition * partitions, [&](std::span<const std::byte> part,
                                                                          std::size_t wanted) {
    const std::size_t records = part.size() / format.record_bytes;
    sample_keys(part.first(records * format.record_bytes), format, std::min(records, wanted), seed++, keys);
  });
  return choose_splitters(keys, format.key_bytes, partitions);
}

}  // namespace

Division::Division(const RecordFormat& format, BlockSource& source, std::size_t partitions,
                   std::uint64_t& bytes_read)
    : partitioner_(format, sampled_splitters(format, source, partitions, bytes_read)) {}

}  // namespace sortcore
