#include "sortcore/splitters.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "random_sequence.hpp"
#include "sortcore/error.hpp"

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

// Walks the sorted sample key by key. A partition is closed before a key when it has its share; a key with a
// share of its own gets a partition between two boundaries.
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
  const double share = static_cast<double>(count) / static_cast<double>(partitions);
  double next_close = share;
  bool has_set_apart = false;  // the last boundary is on the side `after` of the key just passed
  for (std::size_t begin = 0, end = 1; begin < count; begin = end++) {
    while (end < count && std::memcmp(keys[begin], keys[end], key_bytes) == 0) ++end;
    const std::span<const std::byte> key(keys[begin], key_bytes);
    const bool is_heavy = static_cast<double>(end - begin) >= share && end - begin > 1;
    const bool closes = begin > 0 && static_cast<double>(begin) >= next_close && !has_set_apart;
    if (is_heavy || closes) splitters.add(key, Splitters::Side::before);
    if (is_heavy) splitters.add(key, Splitters::Side::after);
    has_set_apart = is_heavy;
    while (next_close <= static_cast<double>(is_heavy ? end : begin)) next_close += share;
  }
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
