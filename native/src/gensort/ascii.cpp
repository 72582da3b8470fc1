#include <array>

#include "gensort/random.hpp"
#include "gensort/records.hpp"
#include "sortcore/gensort/generate.hpp"

namespace sortcore::gensort {
namespace {

constexpr char hex_digits[] = "0123456789ABCDEF";

// Appends characters to a record under construction.
class Writer {
 public:
  explicit Writer(std::byte* to) : to_(to) {}
  void put(char character) { *to_++ = static_cast<std::byte>(character); }
  void put_printable(std::uint64_t value, int count) {
    for (; count > 0; --count, value /= 95) put(static_cast<char>(' ' + value % 95));
  }
  void put_hex(std::uint64_t value, int digits) {
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) put(hex_digits[(value >> shift) & 15]);
  }
  void put_groups_of_four(std::uint64_t value, int groups) {
    for (int shift = 4 * (groups - 1); shift >= 0; shift -= 4) {
      for (int i = 0; i < 4; ++i) put(hex_digits[(value >> shift) & 15]);
    }
  }

 private:
  std::byte* to_;
};

void write_record(U128 number, U128 random, std::byte* out) {
  Writer to(out);
  to.put_printable(high64(random), 8);
  to.put_printable(low64(random), 2);
  to.put(' ');
  to.put(' ');
  to.put_hex(high64(number), 16);
  to.put_hex(low64(number), 16);
  to.put(' ');
  to.put(' ');
  to.put_groups_of_four(low64(random), 13);
  to.put('\r');
  to.put('\n');
}

}  // namespace

void fill_ascii(U128 first, std::span<std::byte> out) {
  U128 random = random_number(first);
  for (std::size_t at = 0; at < out.size(); at += generated_record_bytes, random = next(random)) {
    write_record(first++, random, out.data() + at);
  }
}

}  // namespace sortcore::gensort
