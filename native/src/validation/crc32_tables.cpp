#include "validation/crc32_tables.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "sortcore/validation/crc32.hpp"

namespace sortcore {
namespace crc {
namespace {

constexpr std::uint32_t polynomial = 0xEDB88320;  // bit-reversed
constexpr std::size_t slices = 16;
using Table = std::array<std::uint32_t, 256>;

// tables[k][b] is the register after byte b and k zero bytes.
constexpr std::array<Table, slices> make_tables() {
  std::array<Table, slices> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? polynomial : 0);
    tables[0][byte] = state;
  }
  for (std::size_t k = 1; k < slices; ++k) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 255];
    }
  }
  return tables;
}

constexpr std::array<Table, slices> tables = make_tables();

std::uint32_t load_little_endian(const std::byte* from) {
  std::uint32_t value;
  std::memcpy(&value, from, sizeof value);
  return std::endian::native == std::endian::little ? value : __builtin_bswap32(value);
}

// The contribution of four bytes that are followed by `after` bytes of the slice.
std::uint32_t slice(std::uint32_t word, std::size_t after) {
  return tables[after + 3][word & 255] ^ tables[after + 2][(word >> 8) & 255] ^
         tables[after + 1][(word >> 16) & 255] ^ tables[after][word >> 24];
}

}  // namespace

std::uint32_t update_by_tables(std::uint32_t state, const std::byte* data, std::size_t bytes) {
  for (; bytes >= slices; bytes -= slices, data += slices) {
    state = slice(load_little_endian(data) ^ state, 12) ^ slice(load_little_endian(data + 4), 8) ^
            slice(load_little_endian(data + 8), 4) ^ slice(load_little_endian(data + 12), 0);
  }
  for (; bytes >= 4; bytes -= 4, data += 4) state = slice(load_little_endian(data) ^ state, 0);
  for (; bytes != 0; --bytes, ++data) {
    state = (state >> 8) ^ tables[0][(state ^ static_cast<std::uint32_t>(*data)) & 255];
  }
  return state;
}

}  // namespace crc

std::uint32_t crc32_by_tables(const std::byte* data, std::size_t bytes) {
  return ~crc::update_by_tables(~std::uint32_t{0}, data, bytes);
}

}  // namespace sortcore
