#include "sortcore/records/splitters.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "random_sequence.hpp"
#include "records/splitter_choice.hpp"
#include "sortcore/error.hpp"
#include "sortcore/records/record_sort.hpp"

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

std::vector<std::byte> serialize_splitters(const Splitters& splitters) {
  std::vector<std::byte> bytes;
  bytes.reserve(splitters.boundaries() * (std::size_t{1} + splitters.key_bytes()));
  for (std::size_t i = 0; i < splitters.boundaries(); ++i) {
    bytes.push_back(static_cast<std::byte>(splitters.side(i)));
    const std::span<const std::byte> key = splitters.key(i);
    bytes.insert(bytes.end(), key.begin(), key.end());
  }
  return bytes;
}

Splitters parse_splitters(std::span<const std::byte> bytes, std::uint32_t key_bytes) {
  const std::size_t boundary_bytes = std::size_t{1} + key_bytes;
  if (key_bytes == 0 || bytes.size() % boundary_bytes != 0) {
    throw Error(ErrorCode::bad_record, "splitters that are not whole boundaries of a side and " +
                                           std::to_string(key_bytes) + " bytes");
  }
  Splitters splitters(key_bytes);
  for (; !bytes.empty(); bytes = bytes.subspan(boundary_bytes)) {
    const auto side = static_cast<Splitters::Side>(bytes[0]);
    if (side > Splitters::Side::after)
      throw Error(ErrorCode::bad_record, "a boundary on neither side of a key");
    splitters.add(bytes.subspan(1, key_bytes), side);
  }
  return splitters;
}

Splitters choose_splitters(std::span<const std::byte> sample, std::uint32_t key_bytes,
                           std::size_t partitions) {
  if (partitions == 0) throw Error(ErrorCode::bad_input, "0 partitions asked for");
  if (key_bytes == 0 || sample.size() % key_bytes != 0) {
    throw Error(ErrorCode::bad_record,
                "a sample that is not whole keys of " + std::to_string(key_bytes) + " bytes");
  }
  KeySorter sorter({.record_bytes = key_bytes, .key_offset = 0, .key_bytes = key_bytes}, 1);
  sorter.sort(sample);
  const std::span<const std::uint32_t> order = sorter.order();
  const auto key_at = [&](std::size_t index) {
    return sample.subspan(std::size_t{order[index]} * key_bytes, key_bytes);
  };

  Splitters splitters(key_bytes);
  choose_boundaries(
      order.size(), partitions,
      [&](std::size_t a, std::size_t b) { return compare(key_at(a), key_at(b).data()) == 0; },
      [&](std::size_t index, bool is_heavy) {
        const std::span<const std::byte> key = key_at(index);
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
