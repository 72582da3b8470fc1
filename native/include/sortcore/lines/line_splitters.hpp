// Boundaries between partitions of lines, chosen from a sample of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sortcore/records/splitters.hpp"

namespace sortcore {

// As Splitters, for keys of any length. Immutable: threads may share one.
class LineSplitters {
 public:
  // About `partitions` partitions of equal weight from `sample`, in any order. Throws Error(bad_input) for 0
  // partitions.
  LineSplitters(std::vector<std::string> sample, std::size_t partitions);

  std::size_t partitions() const noexcept { return boundaries_.size() + 1; }
  // True when every line of this partition has the same key.
  bool holds_one_key(std::size_t partition) const noexcept;
  std::size_t partition_of(std::span<const std::byte> key) const noexcept;

 private:
  struct Boundary {
    std::string key;
    Splitters::Side side;
  };
  bool is_above(std::span<const std::byte> key, const Boundary& boundary) const noexcept;

  std::vector<Boundary> boundaries_;
  std::string common_;                   // common prefix of the boundary keys
  std::vector<std::uint64_t> prefixes_;  // of the boundaries: the eight bytes after it, zeros beyond the end
};

}  // namespace sortcore
