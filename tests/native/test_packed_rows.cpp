#include "sortcore/columns/packed_rows.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "random_sequence.hpp"

namespace {
using namespace sortcore;
using Kind = PackedColumn::Kind;

constexpr std::uint64_t tables = check::sanitized ? 40 : 600;
constexpr std::size_t width = 6;  // of the values: not a word

std::span<const std::byte> bytes_of(const auto& values) { return std::as_bytes(std::span(values)); }
std::span<std::byte> writable(auto& values) { return std::as_writable_bytes(std::span(values)); }

// A batch of numbers, values, bits and texts of both sizes of offsets; every column has nulls.
struct Batch {
  std::vector<std::uint64_t> numbers;
  std::vector<std::byte> values, bits, validity;
  std::vector<std::string> texts;
  std::vector<std::int32_t> offsets{0};
  std::vector<std::int64_t> long_offsets{0};
  std::string data;

  Batch(std::uint64_t rows, RandomSequence& random) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      numbers.push_back(random.next());
      for (std::size_t i = 0; i < width; ++i) values.push_back(static_cast<std::byte>(random.below(256)));
      texts.emplace_back(random.below(random.below(9) == 0 ? 300 : 12), static_cast<char>(random.below(256)));
      data += texts.back();
      offsets.push_back(static_cast<std::int32_t>(data.size()));
      long_offsets.push_back(static_cast<std::int64_t>(data.size()));
    }
    for (std::uint64_t i = 0; i < rows / 8 + 2; ++i) {
      bits.push_back(static_cast<std::byte>(random.below(256)));
      validity.push_back(static_cast<std::byte>(random.below(256)));
    }
  }

  bool bit(const std::vector<std::byte>& of, std::uint64_t row) const {
    return std::to_integer<unsigned>(of[(row + 3) / 8]) >> (row + 3) % 8 & 1;
  }

  std::vector<PackedInput> inputs() const {
    const BitChunk valid{validity, 3};
    return {{.validity = valid, .values = bytes_of(numbers), .bits = {}, .texts = {}},
            {.validity = {}, .values = values, .bits = {}, .texts = {}},
            {.validity = {}, .values = {}, .bits = {bits, 3}, .texts = {}},
            {.validity = valid, .values = bytes_of(offsets), .bits = {}, .texts = bytes_of(data)},
            {.validity = {}, .values = bytes_of(long_offsets), .bits = {}, .texts = bytes_of(data)}};
  }
};

std::vector<PackedColumn> columns() {
  return {{Kind::value, 8}, {Kind::value, width}, {Kind::bit, 1}, {Kind::text, 4}, {Kind::text, 8}};
}

// The rows taken, and whether they equal those packed.
struct Taken {
  explicit Taken(std::size_t rows, std::size_t room)
      : validity((rows + 7) / 8),
        text_validity((rows + 7) / 8),
        bits((rows + 7) / 8),
        values(rows * width),
        numbers(rows),
        offsets(rows + 1),
        long_offsets(rows + 1),
        texts(room, '\0'),
        long_texts(room, '\0') {}

  std::vector<PackedOutput> outputs() {
    return {{validity, writable(numbers), {}},
            {{}, values, {}},
            {{}, bits, {}},
            {text_validity, writable(offsets), writable(texts)},
            {{}, writable(long_offsets), writable(long_texts)}};
  }

  void check_row(std::size_t i, const Batch& batch, std::uint64_t row) const {
    const auto bit = [&](const std::vector<std::byte>& of) {
      return (std::to_integer<unsigned>(of[i / 8]) >> i % 8 & 1) != 0;
    };
    CHECK_EQUAL(numbers[i], batch.numbers[row]);
    CHECK(std::memcmp(&values[i * width], &batch.values[row * width], width) == 0);
    CHECK_EQUAL(bit(bits), batch.bit(batch.bits, row));
    CHECK_EQUAL(bit(validity), batch.bit(batch.validity, row));
    CHECK_EQUAL(bit(text_validity), batch.bit(batch.validity, row));
    const auto begin = static_cast<std::size_t>(offsets[i]), end = static_cast<std::size_t>(offsets[i + 1]);
    CHECK(texts.substr(begin, end - begin) == batch.texts[row]);
    CHECK_EQUAL(static_cast<std::size_t>(long_offsets[i + 1]), end);
    CHECK(long_texts.substr(begin, end - begin) == batch.texts[row]);
  }

  std::vector<std::byte> validity, text_validity, bits, values;
  std::vector<std::uint64_t> numbers;
  std::vector<std::int32_t> offsets;
  std::vector<std::int64_t> long_offsets;
  std::string texts, long_texts;
};

// Takes random rows of all batches and checks each.
void check_take(RowPacker& packer, const std::vector<Batch>& batches, RandomSequence& random) {
  std::vector<std::shared_ptr<const PackedRows>> packed;
  std::vector<std::pair<std::size_t, std::uint64_t>> places;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    packed.push_back(packer.pack(batches[i].texts.size(), batches[i].inputs()));
    for (std::uint64_t row = 0; row < batches[i].texts.size(); ++row) places.emplace_back(i, row);
  }
  const PackedTable table(packed);
  CHECK_EQUAL(table.rows(), places.size());
  std::vector<std::uint32_t> rows(places.empty() ? 0 : random.below(2 * places.size() + 1));
  std::size_t text_bytes = 0;
  for (auto& row : rows) {
    row = static_cast<std::uint32_t>(random.below(places.size()));
    text_bytes += batches[places[row].first].texts[places[row].second].size();
  }
  Taken taken(rows.size(), text_bytes + random.below(40));
  const auto sizes = table.take(rows, taken.outputs());
  CHECK(sizes == (std::vector<std::uint64_t>{0, 0, 0, text_bytes, text_bytes}));
  for (std::size_t i = 0; i < rows.size(); ++i)
    taken.check_row(i, batches[places[rows[i]].first], places[rows[i]].second);
}

}  // namespace

TEST(packed_rows_are_what_they_were) {
  RandomSequence random(61);
  RowPacker packer(columns());
  for (std::uint64_t round = 0; round < tables; ++round) {
    std::vector<Batch> batches;
    for (std::uint64_t i = 0; i < 1 + random.below(4); ++i)
      batches.emplace_back(random.below(random.below(9) == 0 ? 2000 : 90), random);
    check_take(packer, batches, random);
    ++check::cases();
  }
}

TEST(rows_of_more_than_a_slab) {
  RandomSequence random(62);
  RowPacker packer(columns());
  std::vector<Batch> batches;
  for (int i = 0; i < 5; ++i) batches.emplace_back(check::sanitized ? 2000 : 60000, random);
  batches.emplace_back(10, random);
  for (int round = 0; round < 2; ++round) check_take(packer, batches, random);
}

THREADED_TEST(threads_pack_while_others_take) {
  RowPacker packer(columns());
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    threads.emplace_back([&packer, seed] {
      RandomSequence random(70 + seed);
      for (int round = 0; round < 20; ++round) {
        std::vector<Batch> batches;
        for (int i = 0; i < 3; ++i) batches.emplace_back(random.below(3000), random);
        check_take(packer, batches, random);
      }
    });
  }
  for (auto& thread : threads) thread.join();
}

TEST(room_that_is_too_small_is_counted) {
  RandomSequence random(63);
  RowPacker packer(columns());
  Batch batch(50, random);
  const PackedTable table({packer.pack(50, batch.inputs())});
  std::vector<std::uint32_t> rows(50);
  for (std::uint32_t i = 0; i < 50; ++i) rows[i] = i;
  Taken taken(50, batch.data.size() / 2);
  CHECK(table.take(rows, taken.outputs()) ==
        (std::vector<std::uint64_t>{0, 0, 0, batch.data.size(), batch.data.size()}));
}

TEST(what_does_not_fit_together_is_refused) {
  RandomSequence random(64);
  CHECK_THROWS(bad_input, RowPacker({}));
  CHECK_THROWS(bad_input, RowPacker({{Kind::value, 0}}));
  CHECK_THROWS(bad_input, RowPacker({{Kind::text, 5}}));
  RowPacker packer(columns()), other(columns());
  const Batch batch(9, random);
  const auto inputs = batch.inputs();
  CHECK_THROWS(bad_input, packer.pack(10, batch.inputs()));
  CHECK_THROWS(bad_input, packer.pack(9, std::span(inputs).first(4)));
  CHECK_THROWS(bad_input, packer.pack(std::uint64_t{1} << 40, batch.inputs()));
  Batch damaged = batch;
  damaged.offsets[4] = -1;
  CHECK_THROWS(bad_record, packer.pack(9, damaged.inputs()));
  const auto packed = packer.pack(9, batch.inputs());
  CHECK_THROWS(bad_input, PackedTable({packed, other.pack(9, batch.inputs())}));
  const PackedTable table({packed});
  Taken taken(1, 300);
  const std::vector<std::uint32_t> beyond{9}, two{0, 1};
  CHECK_THROWS(bad_input, table.take(beyond, taken.outputs()));
  CHECK_THROWS(bad_input, table.take(two, taken.outputs()));
  CHECK_THROWS(bad_input, PackedTable({}).take(two, taken.outputs()));
}
