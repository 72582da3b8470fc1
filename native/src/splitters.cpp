#include "sortcore/splitters.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "random_sequence.hpp"
#include "sortcore/error.hpp"

namespace sortcore {
namespace {

// Walks through the sorted sample, one distinct key after another, and cuts where a partition is full.
class Chooser {
 public:
  Chooser(std::uint32_t key_bytes, double weight_per_partition)
      : weight_per_partition_(weight_per_partition), splitters_(key_bytes) {}

  void take(std::span<const std::byte> key, std::size_t times) {
    constexpr std::size_t certainly_frequent = 4;  // fewer may be chance
    const auto weight = static_cast<double>(times);
    if (times >= certainly_frequent && weight >= weight_per_partition_) {
      splitters_.add(key, Splitters::Side::before);
      splitters_.add(key, Splitters::Side::after);
      weight_ = 0;
      return;
    }
    if (weight_ > 0 && weight_ + weight / 2 >= weight_per_partition_) {
      splitters_.add(key, Splitters::Side::before);
      weight_ = 0;
    }
    weight_ += weight;
  }
  Splitters finish() && { return std::move(splitters_); }

 private:
  double weight_per_partition_;
  double weight_ = 0;  // of the partition being filled
  Splitters splitters_;
};

std::vector<const std::byte*> sorted_keys(std::span<const std::byte> sample, std::uint32_t key_bytes) {
  std::vector<const std::byte*> keys;
  for (std::size_t at = 0; at < sample.size(); at += key_bytes) keys.push_back(sample.data() + at);
  std::ranges::sort(
      keys, [key_bytes](const std::byte* a, const std::byte* b) { return std::memcmp(a, b, key_bytes) < 0; });
  return keys;
}

}  // namespace

void Splitters::add(std::span<const std::byte> key, Side side) {
  if (key.size() != key_bytes_) {
    throw Error(ErrorCode::bad_input, "a splitter of " + std::to_string(key.size()) +
                                          " bytes among keys of " + std::to_string(key_bytes_));
  }
  if (!sides_.empty()) {
    const int order = std::memcmp(this->key(boundaries() - 1).data(), key.data(), key_bytes_);
    if (order > 0 || (order == 0 && !(sides_.back() == Side::before && side == Side::after))) {
      throw Error(ErrorCode::bad_input, "splitters must come in ascending order");
    }
  }
  keys_.insert(keys_.end(), key.begin(), key.end());
  sides_.push_back(side);
}

bool Splitters::holds_one_key(std::size_t partition) const noexcept {
  return partition > 0 && partition < boundaries() && side(partition - 1) == Side::before &&
         side(partition) == Side::after &&
         std::memcmp(key(partition - 1).data(), key(partition).data(), key_bytes_) == 0;
}

bool Splitters::is_above(const std::byte* key, std::size_t boundary) const noexcept {
  const int order = std::memcmp(key, this->key(boundary).data(), key_bytes_);
  return order > 0 || (order == 0 && side(boundary) == Side::before);
}

std::size_t Splitters::partition_of(const std::byte* key) const noexcept {
  std::size_t low = 0, high = boundaries();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (is_above(key, middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

Splitters choose_splitters(std::span<const std::byte> sample, std::uint32_t key_bytes,
                           std::size_t partitions) {
  if (partitions == 0) throw Error(ErrorCode::bad_input, "there must be at least one partition");
  RecordFormat{.record_bytes = key_bytes, .key_offset = 0, .key_bytes = key_bytes}.whole_records(
      sample.size());
  const std::vector<const std::byte*> keys = sorted_keys(sample, key_bytes);
  if (partitions == 1) return Splitters(key_bytes);
  Chooser chooser(key_bytes, static_cast<double>(keys.size()) / static_cast<double>(partitions));
  for (std::size_t begin = 0, end = 0; begin < keys.size(); begin = end) {
    while (end < keys.size() && std::memcmp(keys[begin], keys[end], key_bytes) == 0) ++end;
    chooser.take({keys[begin], key_bytes}, end - begin);
  }
  return std::move(chooser).finish();
}

void sample_keys(std::span<const std::byte> records, const RecordFormat& format, std::size_t count,
                 std::uint64_t seed, std::vector<std::byte>& sample) {
  const std::uint64_t available = format.whole_records(records.size());
  RandomSequence random(seed);
  for (std::size_t i = 0; i < count && available != 0; ++i) {
    // One from each of `count` equal stretches.
    const std::uint64_t begin = i * available / count, end = std::max((i + 1) * available / count, begin + 1);
    const std::byte* key =
        records.data() + (begin + random.below(end - begin)) * format.record_bytes + format.key_offset;
    sample.insert(sample.end(), key, key + format.key_bytes);
  }
}

}  // namespace sortcore
