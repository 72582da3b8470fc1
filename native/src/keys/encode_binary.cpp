// Binary numbers.
#include <algorithm>

#include "bytes.hpp"
#include "keys/encodings.hpp"

namespace sortcore {
namespace {

constexpr unsigned byte_bits = 8;

unsigned exponent_bits(std::size_t bytes) noexcept { return bytes == 2 ? 5 : bytes == 4 ? 8 : 11; }

}  // namespace

std::byte* encode_unsigned(std::span<const std::byte> key, std::byte* to) noexcept {
  return std::ranges::copy(key, to).out;
}

std::byte* encode_signed(std::span<const std::byte> key, std::byte* to) noexcept {
  std::byte* const end = encode_unsigned(key, to);
  if (end != to) *to ^= std::byte{0x80};
  return end;
}

std::byte* encode_ieee(std::span<const std::byte> key, std::byte* to) noexcept {
  const unsigned unused = 64 - byte_bits * static_cast<unsigned>(key.size());
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  std::uint64_t bits = load_big_endian(key.data(), key.size());  // at the top
  const std::uint64_t magnitude = bits & ~sign;
  const std::uint64_t infinity = ((std::uint64_t{1} << exponent_bits(key.size())) - 1)
                                 << (63 - exponent_bits(key.size()));
  if (magnitude == 0) bits = 0;
  const std::uint64_t ordered = (bits & sign) != 0 ? ~bits : bits | sign;
  const std::uint64_t encoded = magnitude > infinity ? ~std::uint64_t{0} : ordered;
  for (std::size_t i = 0; i < key.size(); ++i)
    *to++ = static_cast<std::byte>((encoded >> unused) >> (byte_bits * (key.size() - 1 - i)));
  return to;
}

}  // namespace sortcore
