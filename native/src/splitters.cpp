#include "sortcore/splitters.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "random_sequence.hpp"
#include "sortcore/error.hpp"
#include "splitter_choice.hpp"

namespace sortcore {
namespace {

int compare(std::span<const std::byte> a, const std::byte* b) { return std::memcmp(a.data(), b, a.size()); }

}  // namespace

void Splitters::add(std::span<const std::byte> key, Side side) {
  if (key.size() != key_bytes_) {
    throw Error(ErrorCode::bad_input, "a boundary of " + std::to_string(key.size()) +
                                          " bytes among keys of " + std::to_string(key_bytes_));
  }
  if (boundaries() > 0) {
    const int order = compare(this->key(boundaries() - 1), key.data());
    const bool ascends = order < 0 || (order == 0 && sides_.back() == Side::before && side == Side::after);
    if (!ascends) throw Error(ErrorCode::bad_input, "boundaries must come in ascending order");
  }
  keys_.insert(keys_.end(), key.begin(), key.end());
  sides_.push_back(side);
}

bool Splitters::holds_one_key(std::size_t partition) const noexcept {
  if (partition == 0 || partition >= boundaries()) return false;
  return side(partition - 1) == Side::before && side(partition) == Side::after &&
         compare(key(partition - 1), key(partition).data()) == 0;
}

bool Splitters::is_above(const std::byte* key, std::size_t boundary) const noexcept {
  const int order = compare(this->key(boundary), key);
  return order < 0 || (order == 0 && side(boundary) == Side::before);
}

std::size_t Splitters::partition_of(const std::byte* key) const noexcept {
  std::size_t below = 0;  // boundaries at or below the key
  std::size_t end = boundaries();
  while (below < end) {
    const std::size_t middle = (below + end) / 2;
    const bool at_or_below = is_above(key, middle);
    (at_or_below ? below : end) = at_or_below ? middle + 1 : middle;
  }
  return below;
}

Splitters choose_splitters(std::span<const std::byte> sample, std::uint32_t key_bytes,
                           std::size_t partitions) {
  if (partitions == 0) throw Error(ErrorCode::bad_input, "0 partitions asked for");
  if (key_bytes == 0 || sample.size() % key_bytes != 0) {
    throw Error(ErrorCode::bad_record,
                "a sample that is not whole keys of " + std::to_string(key_bytes) + " bytes");
  }
  const std::size_t count = sample.size() / key_bytes;
  std::vector<const std::byte*> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = sample.data() + i * key_bytes;
  std::ranges::sort(keys, [&](auto a, auto b) { return std::memcmp(a, b, key_bytes) < 0; });

  Splitters splitters(key_bytes);
  choose_boundaries(
      count, partitions,
      [&](std::size_t a, std::size_t b) { return std::memcmp(keys[a], keys[b], key_bytes) == 0; },
      [&](std::size_t index, bool is_heavy) {
        const std::span<const std::byte> key(keys[index], key_bytes);
        splitters.add(key, Splitters::Side::before);
        if (is_heavy) splitters.add(key, Splitters::Side::after);
      });
  return splitters;
}

void sample_keys(std::span<const std::byte> records, const RecordFormat& format, std::size_t count,
                 std::uint64_t seed, std::vector<std::byte>& sample) {
  const std::uint64_t available = format.whole_records(records.size());
  if (available == 0) return;
  RandomSequence random(seed);
  for (std::size_t i = 0; i < count; ++i) {
    // One from each of `count` stretches: spread evenly, yet without a period.
    const std::uint64_t begin = i * available / count;
    const std::uint64_t stretch = std::max<std::uint64_t>((i + 1) * available / count - begin, 1);
    const std::byte* key =
        records.data() + (begin + random.next() % stretch) * format.record_bytes + format.key_offset;
    sample.insert(sample.end(), key, key + format.key_bytes);
  }
}

}  // namespace sortcore
