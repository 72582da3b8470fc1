// Random records of many shapes and distributions, and the same records as the standard library sorts them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "random_sequence.hpp"
#include "sortcore/records/record_format.hpp"

namespace shapes {

using sortcore::RandomSequence;
using sortcore::RecordFormat;
using Bytes = std::vector<std::byte>;

enum class Keys {
  random,
  few,
  equal,
  ascending,
  descending,
  shared_beginning,
  low_bits,
  mostly_equal,
  skewed
};
inline constexpr Keys all_keys[] = {Keys::random,    Keys::few,          Keys::equal,
                                    Keys::ascending, Keys::descending,   Keys::shared_beginning,
                                    Keys::low_bits,  Keys::mostly_equal, Keys::skewed};

inline RecordFormat random_format(RandomSequence& random) {
  RecordFormat format;
  format.record_bytes = static_cast<std::uint32_t>(1 + random.below(random.below(4) == 0 ? 1500 : 60));
  format.key_bytes = static_cast<std::uint32_t>(1 + random.below(format.record_bytes));
  if (random.below(2) == 0)
    format.key_bytes = std::min(format.key_bytes, 1 + static_cast<std::uint32_t>(random.below(12)));
  format.key_offset = static_cast<std::uint32_t>(random.below(format.record_bytes - format.key_bytes + 1));
  return format;
}

// Writes a big-endian number into the last bytes of a key.
inline void put_number(std::span<std::byte> key, std::uint64_t number) {
  for (std::size_t i = key.size(); i-- > 0; number >>= 8) key[i] = static_cast<std::byte>(number);
}

inline void fill_key(std::span<std::byte> key, Keys kind, std::uint64_t index, std::uint64_t count,
                     RandomSequence& random) {
  switch (kind) {
    case Keys::random:
      break;
    case Keys::few:
      return put_number(key, random.below(3));
    case Keys::equal:
      return put_number(key, 7);
    case Keys::ascending:
      return put_number(key, index);
    case Keys::descending:
      return put_number(key, count - index);
    case Keys::shared_beginning:
      std::ranges::fill(key, std::byte{0xab});
      return put_number(key.last(key.size() - key.size() / 2), random.next());
    case Keys::low_bits:
      return put_number(key, random.below(1000));
    case Keys::mostly_equal:
      if (random.below(8) != 0) return put_number(key, 500);
      break;
    case Keys::skewed:
      put_number(key, random.next() >> random.below(64));
      return;
  }
  for (std::byte& byte : key) byte = static_cast<std::byte>(random.next());
}

inline Bytes random_records(const RecordFormat& format, std::uint64_t count, Keys kind,
                            RandomSequence& random) {
  Bytes records(count * format.record_bytes);
  for (std::byte& byte : records) byte = static_cast<std::byte>(random.next());
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::span record = std::span(records).subspan(i * format.record_bytes, format.record_bytes);
    std::span key = record.subspan(format.key_offset, format.key_bytes);
    std::ranges::fill(key, std::byte{0});
    fill_key(key, kind, i, count, random);
  }
  return records;
}

inline std::vector<std::uint32_t> expected_order(const Bytes& records, const RecordFormat& format) {
  std::vector<std::uint32_t> order(records.size() / format.record_bytes);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return format.compare_keys(&records[std::size_t{a} * format.record_bytes],
                               &records[std::size_t{b} * format.record_bytes]) < 0;
  });
  return order;
}

// The records sorted, equal keys in input order.
inline Bytes expected_sorted(const Bytes& records, const RecordFormat& format) {
  Bytes sorted;
  sorted.reserve(records.size());
  for (const std::uint32_t index : expected_order(records, format)) {
    const auto from = records.begin() + static_cast<std::ptrdiff_t>(std::size_t{index} * format.record_bytes);
    sorted.insert(sorted.end(), from, from + static_cast<std::ptrdiff_t>(format.record_bytes));
  }
  return sorted;
}

}  // namespace shapes
