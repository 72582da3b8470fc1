#include "check.hpp"
#include "gensort/random.hpp"
#include "shapes.hpp"
#include "sortcore/gensort/generate.hpp"
#include "sortcore/validation/validate.hpp"

namespace {
using namespace sortcore;
using shapes::Bytes;

Bytes generated(U128 first, std::size_t records, const GeneratorOptions& options, unsigned threads) {
  Bytes out(records * generated_record_bytes);
  generate_records(first, out, options, threads);
  return out;
}
std::uint64_t checksum(const Bytes& records) { return low64(validate_records(records, {}).checksum); }
}  // namespace

// The checksums that gensort and valsort of the sort benchmark print.
TEST(generated_records_have_the_published_checksums) {
  if (!check::sanitized) CHECK_EQUAL(checksum(generated(0, 1'000'000, {}, 2)), 0x7a0e0d4868cd4U);
  CHECK_EQUAL(checksum(generated(0, 1'000'000, {.skewed = true}, 2)), 0x79f9a7e6de673U);
  CHECK_EQUAL(checksum(generated(123'456'789'012, 1'000, {}, 1)), 0x1f7e4f7eb05U);
}

THREADED_TEST(any_part_can_be_generated_alone) {
  for (const U128 first : {U128{0}, U128{1} << 70, ~U128{0} - 100}) {
    for (const bool ascii : {false, true}) {
      for (const bool skewed : {false, true}) {
        const GeneratorOptions options{.ascii = ascii, .skewed = skewed};
        const Bytes whole = generated(first, 3'000, options, 3);
        for (const std::size_t at : {0U, 1U, 255U, 256U, 1'500U}) {
          const Bytes part = generated(first + at, 700, options, 1);
          CHECK(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(at * 100)));
        }
      }
    }
  }
}

TEST(the_generator_can_be_entered_anywhere) {
  U128 random = gensort::increment;
  for (unsigned i = 0; i < 1'000; ++i, random = gensort::next(random))
    CHECK(gensort::random_number(i) == random);
  CHECK(gensort::random_number(~U128{0}) == 0);  // the number before r_0 in the cycle
}

TEST(generate_refuses_half_a_record) {
  Bytes out(150);
  CHECK_THROWS(bad_record, generate_records(0, out, {}));
}
