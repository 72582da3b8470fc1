#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "columns/expect.hpp"
#include "columns/row_slabs.hpp"
#include "columns/row_tail.hpp"
#include "columns/unaligned.hpp"
#include "sortcore/columns/packed_rows.hpp"
#include "sortcore/error.hpp"

namespace sortcore {
namespace {

using Kind = PackedColumn::Kind;

// This many rows are filled column by column, so that they stay in the cache.
constexpr std::uint64_t rows_filled_at_once = 256;

void check_bits(const BitChunk& chunk, std::uint64_t rows) {
  const std::uint64_t bits = std::uint64_t{chunk.bits.size()} * 8;
  expect(chunk.first <= bits && bits - chunk.first >= rows, "a column is too short for its rows");
}

void check_column(const PackedColumn& column, const PackedInput& input, std::uint64_t rows) {
  if (!input.validity.bits.empty()) check_bits(input.validity, rows);
  if (rows == 0) return;
  if (column.kind == Kind::bit) return check_bits(input.bits, rows);
  const std::uint64_t more = column.kind == Kind::text ? 1 : 0;
  expect(input.values.size() / column.bytes >= rows + more, "a column is too short for its rows");
}

// A batch during packing.
class Filling {
 public:
  Filling(const RowLayout& layout, std::span<const PackedInput> inputs,
          const std::vector<std::uint32_t>& begins, std::byte* to)
      : layout_(layout), inputs_(inputs), begins_(begins), to_(to) {}

  void fill(std::uint64_t first, std::uint64_t past) {
    first_ = first;
    past_ = past;
    for (std::uint64_t row = first; row < past; ++row)
      text_at_[row - first] = at(row) + layout_.fixed_bytes();
    for (std::size_t column = 0; column < inputs_.size(); ++column) {
      const auto [kind, bytes] = layout_.columns()[column];
      if (kind == Kind::value) fill_values(column, bytes);
      if (kind == Kind::bit) fill_bits(column);
      if (kind == Kind::text && bytes == 4) fill_texts<std::uint32_t>(column);
      if (kind == Kind::text && bytes == 8) fill_texts<std::uint64_t>(column);
    }
    fill_validity();
  }

 private:
  std::byte* at(std::uint64_t row) const noexcept { return to_ + begins_[row]; }

  template <typename Put>
  void for_each_row(std::size_t column, Put put) {
    const std::size_t place = layout_.place(column);
    for (std::uint64_t row = first_; row < past_; ++row) put(row, at(row) + place);
  }

  void fill_values(std::size_t column, std::size_t width) {
    const std::byte* const from = inputs_[column].values.data();
    const bool is_word = with_word_of(width, [&](auto word) {
      using Word = decltype(word);
      for_each_row(column, [&](std::uint64_t row, std::byte* to) {
        store(to, load<Word>(from + row * sizeof(Word)));
      });
    });
    if (is_word) return;
    for_each_row(column,
                 [&](std::uint64_t row, std::byte* to) { std::memcpy(to, from + row * width, width); });
  }

  void fill_bits(std::size_t column) {
    const BitChunk& from = inputs_[column].bits;
    for_each_row(column, [&](std::uint64_t row, std::byte* to) {
      *to = std::byte{is_set(from.bits.data(), from.first + row)};
    });
  }

  template <typename Offset>
  void fill_texts(std::size_t column) {
    const std::byte* const offsets = inputs_[column].values.data();
    const std::byte* const texts = inputs_[column].texts.data();
    for_each_row(column, [&](std::uint64_t row, std::byte* to) {
      const auto begin = load<Offset>(offsets + row * sizeof(Offset)),
                 end = load<Offset>(offsets + (row + 1) * sizeof(Offset));
      const auto length = static_cast<std::uint32_t>(end - begin);
      store(to, length);
      std::byte*& text = text_at_[row - first_];
      if (length > 0) std::memcpy(text, texts + begin, length);
      text += length;
    });
  }

  void fill_validity() {
    const std::size_t bytes = layout_.validity_bytes();
    for (std::uint64_t row = first_; row < past_; ++row) std::memset(at(row), 0xff, bytes);
    for (std::size_t column = 0; column < inputs_.size(); ++column) {
      const BitChunk& from = inputs_[column].validity;
      if (from.bits.empty()) continue;
      const std::byte bit = std::byte{1} << (column % 8);
      for (std::uint64_t row = first_; row < past_; ++row) {
        if (!is_set(from.bits.data(), from.first + row)) at(row)[column / 8] &= ~bit;
      }
    }
  }

  const RowLayout& layout_;
  std::span<const PackedInput> inputs_;
  const std::vector<std::uint32_t>& begins_;
  std::byte* to_;
  std::uint64_t first_ = 0, past_ = 0;
  std::byte* text_at_[rows_filled_at_once] = {};
};

// Adds the lengths of a column's texts to `sizes` and returns their sum.
template <typename Offset>
std::uint64_t add_lengths(const PackedInput& input, std::span<std::uint64_t> sizes) {
  const std::byte* offsets = input.values.data();
  std::uint64_t total = 0;
  for (std::uint64_t& size : sizes) {
    const auto begin = load<Offset>(offsets), end = load<Offset>(offsets += sizeof(Offset));
    if (end < begin) throw Error(ErrorCode::bad_record, "a text ends before it begins");
    if (end > input.texts.size()) throw Error(ErrorCode::bad_record, "a text is not in its chunk");
    size += end - begin;
    total += end - begin;
  }
  return total;
}

}  // namespace

RowLayout::RowLayout(std::vector<PackedColumn> columns) : columns_(std::move(columns)) {
  expect(!columns_.empty(), "rows have at least a column");
  fixed_bytes_ = validity_bytes();
  for (const auto& [kind, bytes] : columns_) {
    if (kind == Kind::text) expect(bytes == 4 || bytes == 8, "offsets have 4 or 8 bytes");
    if (kind == Kind::value) expect(bytes > 0, "a value has at least a byte");
    places_.push_back(fixed_bytes_);
    fixed_bytes_ += kind == Kind::value ? bytes : kind == Kind::bit ? 1 : sizeof(std::uint32_t);
  }
}

RowPacker::RowPacker(std::vector<PackedColumn> columns)
    : layout_(std::make_shared<RowLayout>(std::move(columns))), slabs_(std::make_shared<RowSlabs>()) {}

RowPacker::~RowPacker() = default;

std::shared_ptr<const PackedRows> RowPacker::pack(std::uint64_t rows, std::span<const PackedInput> columns) {
  const RowLayout& layout = *layout_;
  expect(columns.size() == layout.columns().size(), "a batch has other columns than its packer");
  constexpr std::uint64_t most_bytes = std::numeric_limits<std::uint32_t>::max() - row_tail_bytes;
  expect(rows <= most_bytes / layout.fixed_bytes(), "a batch is too large to be packed");

  auto packed = std::make_shared<PackedRows>();
  packed->layout_ = layout_;
  std::vector<std::uint64_t> sizes(rows, layout.fixed_bytes());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto [kind, bytes] = layout.columns()[i];
    check_column(layout.columns()[i], columns[i], rows);
    packed->has_nulls_.push_back(!columns[i].validity.bits.empty());
    const bool is_text = kind == Kind::text && rows > 0;
    packed->text_bytes_.push_back(!is_text     ? 0
                                  : bytes == 4 ? add_lengths<std::uint32_t>(columns[i], sizes)
                                               : add_lengths<std::uint64_t>(columns[i], sizes));
  }
  packed->begins_.reserve(rows + 1);
  std::uint64_t end = 0;
  packed->begins_.push_back(0);
  for (const std::uint64_t size : sizes) {
    expect(size <= most_bytes - end, "a batch is too large to be packed");
    end += size;
    packed->begins_.push_back(static_cast<std::uint32_t>(end));
  }
  auto [slab, bytes] = slabs_->take(end + row_tail_bytes);
  packed->slab_ = std::move(slab);
  packed->data_ = bytes;
  std::memset(bytes + end, 0, row_tail_bytes);
  Filling filling(layout, columns, packed->begins_, bytes);
  for (std::uint64_t first = 0; first < rows; first += rows_filled_at_once)
    filling.fill(first, std::min(rows, first + rows_filled_at_once));
  return packed;
}

}  // namespace sortcore
