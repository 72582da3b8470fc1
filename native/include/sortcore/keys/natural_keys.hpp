// Texts as bytes that compare in natural order: numbers within them by value, so that chr2 comes before
// chr10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sortcore {

struct NaturalKeys {
  std::vector<std::int64_t> offsets;  // of each key, and the end
  std::vector<std::byte> keys;
};
// Keys of the texts that begin at these offsets in `texts`, the last offset being the end.
NaturalKeys natural_keys(std::span<const std::int64_t> offsets, std::span<const std::byte> texts);

}  // namespace sortcore
