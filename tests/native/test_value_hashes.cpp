#include "sortcore/columns/value_hashes.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "check.hpp"
#include "random_sequence.hpp"

namespace {
using namespace sortcore;

std::uint64_t hash_of(std::span<const std::byte> text, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t offsets[] = {begin, end};
  std::uint64_t hash = 0;
  hash_texts(std::as_bytes(std::span(offsets)), sizeof offsets[0], text, {&hash, 1});
  return hash;
}

// Memory of just this size, so that a sanitizer sees a read beyond.
struct Readable {
  explicit Readable(std::size_t count) : size(count), data(std::make_unique<std::byte[]>(count)) {}
  std::span<std::byte> all() const { return {data.get(), size}; }
  std::size_t size;
  std::unique_ptr<std::byte[]> data;
};

TEST(a_text_has_one_hash_wherever_it_lies) {
  RandomSequence random(7);
  std::set<std::uint64_t> hashes;
  for (std::uint32_t length = 0; length < 700; ++length) {
    const Readable alone(length), within(length + 20);
    for (std::byte& byte : within.all()) byte = static_cast<std::byte>(random.below(256));
    std::copy_n(within.data.get() + 9, length, alone.data.get());
    const std::uint64_t hash = hash_of(alone.all(), 0, length);
    CHECK_EQUAL(hash_of(within.all(), 9, 9 + length), hash);
    CHECK(hashes.insert(hash).second);
    if (length > 0) {
      alone.data[random.below(length)] ^= std::byte{1};
      CHECK(hash_of(alone.all(), 0, length) != hash);
    }
  }
}

TEST(values_of_any_width_are_read_to_their_end) {
  for (std::size_t width = 1; width < 40; ++width) {
    const Readable values(3 * width);
    values.data[3 * width - 1] = std::byte{1};
    std::uint64_t hashes[3], rows[3] = {};
    hash_values(values.all(), width, hashes);
    CHECK_EQUAL(hashes[0], hashes[1]);
    CHECK(hashes[2] != hashes[0]);
    CHECK_EQUAL(add_hashes(hashes, 2, rows) - 2 * add_hashes({hashes, 1}, 2, {rows, 1}),
                add_hashes({hashes + 2, 1}, 2, {rows + 2, 1}));
  }
}

TEST(texts_beyond_their_buffer_and_other_sizes_are_refused) {
  const Readable text(4);
  CHECK_THROWS(bad_record, hash_of(text.all(), 0, 5));
  CHECK_THROWS(bad_record, hash_of(text.all(), 3, 2));
  std::uint64_t hash = 0;
  CHECK_THROWS(bad_input, hash_values(text.all(), 3, {&hash, 1}));
  CHECK_THROWS(bad_input, hash_texts({}, 4, text.all(), {&hash, 1}));
  CHECK_THROWS(bad_input, hash_texts(text.all(), 2, text.all(), {&hash, 1}));
  CHECK_THROWS(bad_input, add_hashes({&hash, 1}, 0, {}));
}

}  // namespace
