#include "check.hpp"
#include "shapes.hpp"
#include "sortcore/validation/crc32.hpp"

using namespace sortcore;
using shapes::Bytes;

TEST(crc32_is_that_of_the_polynomial_bit_by_bit) {
  RandomSequence random(21);
  for (std::size_t length = 0; length < 300; ++length) {
    Bytes bytes(length);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.next());
    std::uint32_t expected = 0xffff'ffff;
    for (const std::byte byte : bytes) {
      expected ^= static_cast<std::uint32_t>(byte);
      for (int bit = 0; bit < 8; ++bit)
        expected = (expected >> 1) ^ ((expected & 1) != 0 ? 0xEDB8'8320U : 0U);
    }
    CHECK_EQUAL(crc32(bytes), ~expected);
    CHECK_EQUAL(crc32_by_tables(bytes.data(), length), ~expected);
  }
}
