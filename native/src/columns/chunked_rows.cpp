#include "sortcore/columns/chunked_rows.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "columns/expect.hpp"
#include "columns/unaligned.hpp"
#include "prefetch.hpp"
#include "sortcore/error.hpp"

namespace sortcore {
namespace {

constexpr unsigned stride_bits = 10;
// Rows between the prefetch of memory and its use.
constexpr std::size_t ahead = 32;

[[noreturn]] void refuse(const char* what) { throw Error(ErrorCode::bad_input, what); }

}  // namespace

ChunkedRows::ChunkedRows(std::span<const std::uint64_t> chunk_rows) : begins_{0} {
  for (const std::uint64_t rows : chunk_rows) {
    expect(rows <= max_rows - begins_.back(), "a table has too many rows");
    begins_.push_back(begins_.back() + rows);
  }
  std::size_t chunk = 0;
  for (std::uint64_t row = 0; row < rows(); row += std::uint64_t{1} << stride_bits) {
    while (row >= begins_[chunk + 1]) ++chunk;
    chunk_of_.push_back(chunk);
  }
}

ChunkedRows::Place ChunkedRows::place_of(std::uint32_t row) const {
  if (row >= rows()) refuse("a row is not in the table");
  std::size_t chunk = chunk_of_[row >> stride_bits];
  while (row >= begins_[chunk + 1]) ++chunk;
  return {chunk, row - begins_[chunk]};
}

void ChunkedRows::check_sizes(std::span<const ColumnChunk> chunks, std::uint64_t width,
                              std::uint64_t more_rows) const {
  expect(chunks.size() == begins_.size() - 1, "a column has other chunks than its table");
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::uint64_t rows = begins_[i + 1] - begins_[i];
    expect(rows == 0 || chunks[i].size() / width >= rows + more_rows, "a chunk is too short for its rows");
  }
}

// Calls look_ahead(place) some rows before copy(index, place), which may then find its data in the cache.
template <typename Look, typename Copy>
void ChunkedRows::for_each_place(std::span<const std::uint32_t> rows, Look look_ahead, Copy copy) const {
  Place ring[ahead];
  const auto fetch = [&](std::size_t i) {
    ring[i % ahead] = place_of(rows[i]);
    look_ahead(ring[i % ahead]);
  };
  for (std::size_t i = 0; i < std::min(ahead, rows.size()); ++i) fetch(i);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    copy(i, ring[i % ahead]);
    if (i + ahead < rows.size()) fetch(i + ahead);
  }
}

template <typename Value>
void ChunkedRows::gather_words(std::span<const ColumnChunk> chunks, std::span<const std::uint32_t> rows,
                               std::byte* out) const {
  const auto at = [&](const Place& place) { return chunks[place.chunk].data() + place.row * sizeof(Value); };
  for_each_place(
      rows, [&](const Place& place) { __builtin_prefetch(at(place)); },
      [&](std::size_t i, const Place& place) { store(out + i * sizeof(Value), load<Value>(at(place))); });
}

void ChunkedRows::gather_values(std::span<const ColumnChunk> chunks, std::size_t width,
                                std::span<const std::uint32_t> rows, std::span<std::byte> out) const {
  expect(width > 0 && out.size() / width == rows.size() && out.size() % width == 0, "out has another size");
  check_sizes(chunks, width, 0);
  switch (width) {
    case 1:
      return gather_words<std::uint8_t>(chunks, rows, out.data());
    case 2:
      return gather_words<std::uint16_t>(chunks, rows, out.data());
    case 4:
      return gather_words<std::uint32_t>(chunks, rows, out.data());
    case 8:
      return gather_words<std::uint64_t>(chunks, rows, out.data());
    case 16:
      return gather_words<TwoWords>(chunks, rows, out.data());
    default:
      break;
  }
  const auto at = [&](const Place& place) { return chunks[place.chunk].data() + place.row * width; };
  for_each_place(
      rows, [&](const Place& place) { prefetch_record(at(place), width); },
      [&](std::size_t i, const Place& place) { std::memcpy(out.data() + i * width, at(place), width); });
}

void ChunkedRows::gather_bits(std::span<const BitChunk> chunks, std::span<const std::uint32_t> rows,
                              std::span<std::byte> out) const {
  expect(out.size() == (rows.size() + 7) / 8, "out has another size");
  expect(chunks.size() == begins_.size() - 1, "a column has other chunks than its table");
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const std::uint64_t bits = std::uint64_t{chunks[i].bits.size()} * 8,
                        rows_of = begins_[i + 1] - begins_[i];
    const bool is_long_enough = chunks[i].first <= bits && bits - chunks[i].first >= rows_of;
    expect(chunks[i].bits.empty() || is_long_enough, "a chunk is too short for its rows");
  }
  std::ranges::fill(out, std::byte{0});
  for_each_place(
      rows, [](const Place&) {},
      [&](std::size_t i, const Place& place) {
        const BitChunk& chunk = chunks[place.chunk];
        const std::uint64_t bit = chunk.first + place.row;
        const bool is_set =
            chunk.bits.empty() || (std::to_integer<unsigned>(chunk.bits[bit / 8]) >> bit % 8 & 1);
        if (is_set) out[i / 8] |= std::byte{1} << (i % 8);
      });
}

template <typename Offset>
std::uint64_t ChunkedRows::add_up(std::span<const ColumnChunk> offsets, std::span<const std::uint32_t> rows,
                                  std::byte* out) const {
  using Unsigned = std::make_unsigned_t<Offset>;
  const auto at = [&](const Place& place) {
    return offsets[place.chunk].data() + place.row * sizeof(Offset);
  };
  std::uint64_t total = 0;
  store<Offset>(out, 0);
  for_each_place(
      rows, [&](const Place& place) { __builtin_prefetch(at(place)); },
      [&](std::size_t i, const Place& place) {
        const std::byte* offset = at(place);
        const auto begin = load<Unsigned>(offset), end = load<Unsigned>(offset + sizeof(Offset));
        if (end < begin) throw Error(ErrorCode::bad_record, "a text ends before it begins");
        total += end - begin;
        store(out + (i + 1) * sizeof(Offset), static_cast<Unsigned>(total));
      });
  return total;
}

std::uint64_t ChunkedRows::gather_offsets(std::span<const ColumnChunk> offsets, std::size_t offset_bytes,
                                          std::span<const std::uint32_t> rows,
                                          std::span<std::byte> out) const {
  expect(offset_bytes == 4 || offset_bytes == 8, "offsets have 4 or 8 bytes");
  expect(out.size() == (rows.size() + 1) * offset_bytes, "out has another size");
  check_sizes(offsets, offset_bytes, 1);
  if (offset_bytes == 4) return add_up<std::int32_t>(offsets, rows, out.data());
  return add_up<std::int64_t>(offsets, rows, out.data());
}

template <typename Offset>
void ChunkedRows::copy_texts(std::span<const ColumnChunk> offsets, std::span<const ColumnChunk> texts,
                             std::span<const std::uint32_t> rows, std::span<std::byte> out) const {
  using Unsigned = std::make_unsigned_t<Offset>;
  const auto at = [&](const Place& place) {
    return offsets[place.chunk].data() + place.row * sizeof(Offset);
  };
  ColumnChunk ring[ahead];  // texts with offsets here that were prefetched
  const auto fetch = [&](std::size_t i, const Place& place) {
    const ColumnChunk whole = texts[place.chunk];
    const auto begin = load<Unsigned>(at(place)), end = load<Unsigned>(at(place) + sizeof(Offset));
    if (end < begin || end > whole.size()) throw Error(ErrorCode::bad_record, "a text is not in its chunk");
    ring[i % ahead] = whole.subspan(begin, end - begin);
    if (end > begin) prefetch_record(ring[i % ahead].data(), end - begin);
  };
  std::byte* to = out.data();
  const auto copy = [&](std::size_t i) {
    const ColumnChunk text = ring[i % ahead];
    if (text.size() > static_cast<std::size_t>(out.data() + out.size() - to)) refuse("out has another size");
    if (!text.empty()) std::memcpy(to, text.data(), text.size());
    to += text.size();
  };
  for_each_place(
      rows, [&](const Place& place) { __builtin_prefetch(at(place)); },
      [&](std::size_t i, const Place& place) {
        if (i >= ahead) copy(i - ahead);
        fetch(i, place);
      });
  for (std::size_t i = rows.size() - std::min(ahead, rows.size()); i < rows.size(); ++i) copy(i);
  expect(to == out.data() + out.size(), "out has another size");
}

void ChunkedRows::gather_texts(std::span<const ColumnChunk> offsets, std::size_t offset_bytes,
                               std::span<const ColumnChunk> texts, std::span<const std::uint32_t> rows,
                               std::span<std::byte> out) const {
  expect(offset_bytes == 4 || offset_bytes == 8, "offsets have 4 or 8 bytes");
  expect(texts.size() == offsets.size(), "a column has other chunks than its table");
  check_sizes(offsets, offset_bytes, 1);
  if (offset_bytes == 4) return copy_texts<std::int32_t>(offsets, texts, rows, out);
  copy_texts<std::int64_t>(offsets, texts, rows, out);
}

}  // namespace sortcore
