#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "bytes.hpp"
#include "gensort/random.hpp"
#include "gensort/records.hpp"
#include "sortcore/gensort/generate.hpp"

namespace sortcore::gensort {
namespace {

constexpr std::size_t most_shared_bytes = 6;
constexpr std::size_t prefixes = 129;  // one per number of significant bits of a record number
using Prefix = std::array<std::byte, 8>;

// The first key bytes of the unskewed records 0 ... 128, which the skewed keys share.
template <void (*fill)(U128, std::span<std::byte>)>
std::array<Prefix, prefixes> make_prefixes() {
  std::array<std::byte, prefixes * generated_record_bytes> records;
  fill(0, records);
  std::array<Prefix, prefixes> result;
  for (std::size_t i = 0; i < prefixes; ++i) {
    std::memcpy(result[i].data(), records.data() + i * generated_record_bytes, sizeof(Prefix));
  }
  return result;
}

std::size_t significant_bits(U128 value) {
  const auto bits = high64(value) != 0 ? 64 + std::bit_width(high64(value)) : std::bit_width(low64(value));
  return static_cast<std::size_t>(bits);
}

// Calls visit(record, prefix, 32 random bits) for the records of `out`.
template <typename Visit>
void for_each_record(U128 first, std::span<std::byte> out, const std::array<Prefix, prefixes>& shared,
                     Visit visit) {
  U128 random = random_number(first);
  for (std::size_t at = 0; at < out.size(); at += generated_record_bytes, random = next(random)) {
    visit(out.data() + at, shared[significant_bits(first++)].data(),
          static_cast<std::uint32_t>(low64(random) >> 32));
  }
}

}  // namespace

void skew_binary(U128 first, std::span<std::byte> out) {
  static const std::array<Prefix, prefixes> shared = make_prefixes<fill_binary>();
  for_each_record(first, out, shared, [](std::byte* record, const std::byte* prefix, std::uint32_t random) {
    const unsigned drawn = random & 63, bits = drawn > 8 * most_shared_bytes ? 0 : drawn;
    if (bits == 0) return;
    const std::uint64_t mask = ~std::uint64_t{0} << (64 - bits);
    store_big_endian(record, (load_big_endian(prefix) & mask) | (load_big_endian(record) & ~mask));
  });
}

void skew_ascii(U128 first, std::span<std::byte> out) {
  static const std::array<Prefix, prefixes> shared = make_prefixes<fill_ascii>();
  for_each_record(first, out, shared, [](std::byte* record, const std::byte* prefix, std::uint32_t random) {
    const unsigned drawn = random & 7;
    std::memcpy(record, prefix, drawn > most_shared_bytes ? 0 : drawn);
  });
}

}  // namespace sortcore::gensort
