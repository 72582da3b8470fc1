#include "bytes.hpp"
#include "keys/encodings.hpp"
#include "sortcore/u128.hpp"

namespace sortcore {
namespace {

// Both halves of a product of 64-bit integers, so that every bit of either reaches the result.
std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
  const U128 product = U128{a} * b;
  return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
}

std::uint64_t hash_of(std::span<const std::byte> key, std::uint64_t seed) noexcept {
  constexpr std::uint64_t odd = 0x9e3779b97f4a7c15, other_odd = 0xd6e8feb86659fd93;
  std::uint64_t hash = mix(seed ^ odd, key.size() ^ other_odd);
  for (; key.size() > 8; key = key.subspan(8))
    hash = mix(hash ^ load_big_endian(key.data()), other_odd ^ seed);
  hash = mix(hash ^ load_big_endian(key.data(), key.size()), odd ^ seed);
  return mix(hash, other_odd);
}

}  // namespace

std::byte* encode_random(std::span<const std::byte> key, const std::array<std::byte, 16>& seed,
                         std::byte* to) noexcept {
  for (std::size_t half = 0; half < 2; ++half, to += sizeof(std::uint64_t))
    store_big_endian(to, hash_of(key, load_big_endian(seed.data() + 8 * half)));
  return to;
}

}  // namespace sortcore
