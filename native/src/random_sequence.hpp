// Deterministic pseudo-random numbers for sampling: the splitmix64 sequence (Steele, Lea, Flood, OOPSLA
// 2014).
#pragma once

#include <cstdint>

namespace sortcore {

class RandomSequence {
 public:
  explicit RandomSequence(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() { return mix(state_ += 0x9e3779b97f4a7c15); }
  // A fixed mixing of the bits: neighbouring values become unlike each other.
  static constexpr std::uint64_t mix(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
  }
  // A number from 0 ... bound - 1, nearly evenly distributed.
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>(Wide{next()} * bound >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace sortcore
