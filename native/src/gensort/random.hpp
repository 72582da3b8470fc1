// The random numbers of gensort 1.5: r_0 = c, r_(i+1) = a r_i + c (mod 2^128).
#pragma once

#include "sortcore/u128.hpp"

namespace sortcore::gensort {

inline constexpr U128 multiplier = make_u128(0x2360ed051fc65da4, 0x4385df649fccf645);
inline constexpr U128 increment = make_u128(0x4a696d4772617952, 0x4950202020202001);

constexpr U128 next(U128 random) { return multiplier * random + increment; }

// r_i, by squaring the map x -> a x + c: O(log i).
constexpr U128 random_number(U128 i) {
  U128 scale = 1, shift = 0;  // the map composed so far
  U128 power_scale = multiplier, power_shift = increment;
  for (U128 steps = i + 1; steps != 0; steps >>= 1) {  // r_i is i + 1 steps from 0; 2^128 steps equal none
    if (steps & 1) {
      shift = power_scale * shift + power_shift;
      scale = power_scale * scale;
    }
    power_shift = power_scale * power_shift + power_shift;
    power_scale = power_scale * power_scale;
  }
  return shift;
}

}  // namespace sortcore::gensort
