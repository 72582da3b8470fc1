// Instruction sets of the processor beyond the baseline of its family.
#pragma once

#if defined(__x86_64__)

// For a function that is called only if `has_avx2` is true.
#define SORTCORE_AVX2 __attribute__((target("avx2,bmi,popcnt,pclmul")))

// The same for `has_avx512`.
#define SORTCORE_AVX512 __attribute__((target("avx512f,avx512bw,bmi,popcnt,pclmul")))

namespace sortcore {

// Including the bit instructions that came with it or before.
inline bool has_avx2() noexcept {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                          __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul");
  return has;
}

// For vectors of bytes, too.
inline bool has_avx512() noexcept {
  static const bool has =
      has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
  return has;
}

}  // namespace sortcore

#endif
