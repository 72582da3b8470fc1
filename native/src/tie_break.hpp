// Ordering the few records whose entries do not tell their keys apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace sortcore {

// One step of a comparison that goes eight key bytes deeper at a time.
struct KeyChunk {
  std::uint64_t chunk;
  std::uint32_t index;

  friend auto operator<=>(const KeyChunk&, const KeyChunk&) = default;
};

// Sorts `indices` by the key bytes from `depth` on, shorter before longer, then by index. The chunks are
// fetched once for each level, so that comparing does not touch the records.
template <typename Keys>
void break_ties(std::span<std::uint32_t> indices, std::uint64_t depth, const Keys& keys) {
  constexpr std::uint64_t chunk_bytes = 8;
  if (depth >= keys.longest_key_bytes()) {  // equal up to trailing zeros, which only lines of different
                                            // lengths can have
    std::ranges::sort(indices, [&](std::uint32_t a, std::uint32_t b) {
      return keys.key_bytes(a) != keys.key_bytes(b) ? keys.key_bytes(a) < keys.key_bytes(b) : a < b;
    });
    return;
  }
  std::vector<KeyChunk> chunks(indices.size());
  for (std::size_t i = 0; i < indices.size(); ++i) chunks[i] = {keys.chunk(indices[i], depth), indices[i]};
  std::ranges::sort(chunks);
  for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = chunks[i].index;
  for (std::size_t begin = 0, end = 0; begin < chunks.size(); begin = end) {
    while (end < chunks.size() && chunks[end].chunk == chunks[begin].chunk) ++end;
    if (end - begin > 1) break_ties(indices.subspan(begin, end - begin), depth + chunk_bytes, keys);
  }
}

}  // namespace sortcore
