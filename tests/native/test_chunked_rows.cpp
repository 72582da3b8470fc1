#include "sortcore/columns/chunked_rows.hpp"

#include <cstring>
#include <string>

#include "check.hpp"
#include "random_sequence.hpp"

namespace {
using namespace sortcore;

constexpr std::uint64_t tables = check::sanitized ? 60 : 1500;

std::span<const std::byte> bytes_of(const auto& values) { return std::as_bytes(std::span(values)); }

// A table of one column of texts in random chunks; a text's length and first byte identify its row.
struct TextTable {
  std::vector<std::uint64_t> chunk_rows;
  std::vector<std::string> texts;
  std::vector<std::vector<std::int32_t>> offsets;
  std::vector<std::string> data;

  explicit TextTable(RandomSequence& random) {
    const std::uint64_t chunks = random.below(6);
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      chunk_rows.push_back(random.below(4) == 0 ? 0 : random.below(random.below(8) == 0 ? 3000 : 70));
      offsets.push_back({static_cast<std::int32_t>(random.below(9))});
      data.emplace_back(static_cast<std::size_t>(offsets.back().front()), '?');
      for (std::uint64_t row = 0; row < chunk_rows.back(); ++row) {
        texts.emplace_back(random.below(random.below(9) == 0 ? 600 : 20),
                           static_cast<char>(random.below(256)));
        data.back() += texts.back();
        offsets.back().push_back(static_cast<std::int32_t>(data.back().size()));
      }
    }
  }

  std::vector<ColumnChunk> offset_chunks() const {
    std::vector<ColumnChunk> all;
    for (const auto& chunk : offsets) all.push_back(bytes_of(chunk));
    return all;
  }
  std::vector<ColumnChunk> text_chunks() const {
    std::vector<ColumnChunk> all;
    for (const auto& chunk : data) all.push_back(bytes_of(chunk));
    return all;
  }
};

std::vector<std::uint32_t> some_rows(std::uint64_t rows, RandomSequence& random) {
  std::vector<std::uint32_t> some(rows == 0 ? 0 : random.below(2 * rows + 1));
  for (auto& row : some) row = static_cast<std::uint32_t>(random.below(rows));
  return some;
}

void check_values(std::size_t width, RandomSequence& random) {
  std::vector<std::uint64_t> chunk_rows(1 + random.below(5));
  std::vector<std::vector<std::byte>> chunks;
  std::vector<std::byte> all;
  for (auto& rows : chunk_rows) {
    rows = random.below(2500);
    std::vector<std::byte> chunk(rows * width);
    for (auto& byte : chunk) byte = static_cast<std::byte>(random.below(256));
    all.insert(all.end(), chunk.begin(), chunk.end());
    chunks.push_back(std::move(chunk));
  }
  const ChunkedRows table(chunk_rows);
  const auto rows = some_rows(table.rows(), random);
  std::vector<std::byte> out(rows.size() * width), expected;
  for (const std::uint32_t row : rows) {
    expected.insert(expected.end(), all.begin() + static_cast<std::ptrdiff_t>(row * width),
                    all.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
  }
  table.gather_values(std::vector<ColumnChunk>(chunks.begin(), chunks.end()), width, rows, out);
  CHECK(out == expected);
  ++check::cases();
}
}  // namespace

TEST(values_of_every_width_come_from_any_chunk) {
  RandomSequence random(51);
  for (std::uint64_t round = 0; round < tables / 30; ++round) {
    for (const std::size_t width : {1u, 2u, 3u, 4u, 8u, 12u, 16u, 32u, 300u}) check_values(width, random);
  }
}

TEST(texts_come_from_any_chunk) {
  RandomSequence random(52);
  for (std::uint64_t round = 0; round < tables; ++round) {
    const TextTable table(random);
    const ChunkedRows places(table.chunk_rows);
    const auto rows = some_rows(table.texts.size(), random);
    std::vector<std::int32_t> offsets(rows.size() + 1);
    const std::uint64_t total =
        places.gather_offsets(table.offset_chunks(), 4, rows, std::as_writable_bytes(std::span(offsets)));
    std::string expected, out(total, '\0');
    for (std::size_t i = 0; i < rows.size(); ++i) {
      CHECK_EQUAL(static_cast<std::size_t>(offsets[i]), expected.size());
      expected += table.texts[rows[i]];
    }
    places.gather_texts(table.offset_chunks(), 4, table.text_chunks(), rows,
                        std::as_writable_bytes(std::span(out)));
    CHECK(out == expected);
    ++check::cases();
  }
}

TEST(bits_come_from_any_chunk_and_a_chunk_without_has_all) {
  RandomSequence random(53);
  for (std::uint64_t round = 0; round < tables; ++round) {
    const std::vector<std::byte> bits{static_cast<std::byte>(random.below(256)),
                                      static_cast<std::byte>(random.below(256))};
    const ChunkedRows places(std::vector<std::uint64_t>{9, 3});
    const std::vector<BitChunk> chunks{{bits, random.below(8)}, {}};
    const auto rows = some_rows(12, random);
    std::vector<std::byte> out((rows.size() + 7) / 8, std::byte{0xff});
    places.gather_bits(chunks, rows, out);
    for (std::size_t i = 0; i < out.size() * 8; ++i) {
      const bool is_set = std::to_integer<unsigned>(out[i / 8]) >> i % 8 & 1;
      const std::uint64_t bit = chunks[0].first + (i < rows.size() ? rows[i] : 0);
      const bool expected =
          i < rows.size() && (rows[i] >= 9 || (std::to_integer<unsigned>(bits[bit / 8]) >> bit % 8 & 1));
      CHECK_EQUAL(is_set, expected);
    }
    ++check::cases();
  }
}

TEST(what_is_not_there_is_refused) {
  const ChunkedRows two(std::vector<std::uint64_t>{1, 1});
  const std::vector<std::uint32_t> rows{1}, beyond{2};
  const std::vector<std::uint64_t> values{1, 2};
  const std::vector<ColumnChunk> chunks{bytes_of(values).first(8), bytes_of(values).last(8)};
  std::vector<std::byte> out(8), small(7);
  CHECK_THROWS(bad_input, two.gather_values(chunks, 8, beyond, out));
  CHECK_THROWS(bad_input, two.gather_values(chunks, 8, rows, small));
  CHECK_THROWS(bad_input, two.gather_values(chunks, 16, rows, out));
  CHECK_THROWS(bad_input, two.gather_values(std::span(chunks).first(1), 8, rows, out));
  CHECK_THROWS(bad_input,
               two.gather_bits(std::vector<BitChunk>{{chunks[0], 64}, {}}, rows, std::span(out).first(1)));
  CHECK_THROWS(bad_input, ChunkedRows(std::vector<std::uint64_t>{0xffff'fff0, 0x10}));
}

TEST(a_text_outside_its_chunk_is_refused) {
  const ChunkedRows one(std::vector<std::uint64_t>{1});
  const std::vector<std::uint32_t> rows{0};
  const std::vector<std::int32_t> falling{3, 1}, long_one{0, 9};
  const std::vector<std::byte> text(4);
  std::vector<std::byte> offsets(8), out(9);
  const std::vector<ColumnChunk> texts{text};
  const std::vector<ColumnChunk> bad{bytes_of(falling)}, far{bytes_of(long_one)};
  CHECK_THROWS(bad_record, one.gather_offsets(bad, 4, rows, offsets));
  CHECK_THROWS(bad_record, one.gather_texts(far, 4, texts, rows, out));
  const std::vector<std::int32_t> whole{0, 4};
  const std::vector<ColumnChunk> good{bytes_of(whole)};
  CHECK_THROWS(bad_input, one.gather_texts(good, 4, texts, rows, out));
  CHECK_THROWS(bad_input, one.gather_texts(good, 4, texts, rows, std::span(out).first(3)));
}
