#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "columns/expect.hpp"
#include "columns/row_tail.hpp"
#include "columns/unaligned.hpp"
#include "prefetch.hpp"
#include "sortcore/columns/packed_rows.hpp"
#include "sortcore/error.hpp"

namespace sortcore {
namespace {

using Kind = PackedColumn::Kind;

// This many rows are prefetched while those before are copied column by column.
constexpr std::size_t rows_taken_at_once = 64;

std::vector<std::uint64_t> rows_of(std::span<const std::shared_ptr<const PackedRows>> batches) {
  std::vector<std::uint64_t> rows;
  for (const auto& batch : batches) rows.push_back(batch->rows());
  return rows;
}

// Prefetched rows: where each begins, and later where its next text does.
struct Group {
  std::size_t first = 0, count = 0;
  const std::byte* row[rows_taken_at_once];
  const std::byte* text[rows_taken_at_once];
};

// Copies groups of rows to the outputs.
class Unpacking {
 public:
  Unpacking(const RowLayout& layout, std::span<const PackedOutput> out)
      : layout_(layout), out_(out), text_bytes_(out.size()) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::ranges::fill(out[i].validity, std::byte{0});
      if (layout.columns()[i].kind == Kind::bit) std::ranges::fill(out[i].values, std::byte{0});
      if (layout.columns()[i].kind == Kind::text) std::memset(out[i].values.data(), 0, bytes_of(i));
    }
  }

  void copy(Group& group) {
    for (std::size_t j = 0; j < group.count; ++j) group.text[j] = group.row[j] + layout_.fixed_bytes();
    for (std::size_t column = 0; column < out_.size(); ++column) {
      if (!out_[column].validity.empty()) copy_validity(column, group);
      const Kind kind = layout_.columns()[column].kind;
      if (kind == Kind::value) copy_values(column, group);
      if (kind == Kind::bit) copy_bits(column, group);
      if (kind == Kind::text && bytes_of(column) == 4) copy_texts<std::uint32_t>(column, group);
      if (kind == Kind::text && bytes_of(column) == 8) copy_texts<std::uint64_t>(column, group);
    }
  }

  std::vector<std::uint64_t> text_bytes() && { return std::move(text_bytes_); }

 private:
  std::size_t bytes_of(std::size_t column) const noexcept { return layout_.columns()[column].bytes; }

  void copy_values(std::size_t column, const Group& group) {
    const std::size_t place = layout_.place(column), width = bytes_of(column);
    std::byte* const to = out_[column].values.data() + group.first * width;
    const bool is_word = with_word_of(width, [&](auto word) {
      using Word = decltype(word);
      for (std::size_t j = 0; j < group.count; ++j)
        store(to + j * sizeof(Word), load<Word>(group.row[j] + place));
    });
    if (is_word) return;
    for (std::size_t j = 0; j < group.count; ++j) std::memcpy(to + j * width, group.row[j] + place, width);
  }

  void copy_bits(std::size_t column, const Group& group) {
    const std::size_t place = layout_.place(column);
    for (std::size_t j = 0; j < group.count; ++j)
      add_bit(out_[column].values, group.first + j, group.row[j][place] != std::byte{0});
  }

  void copy_validity(std::size_t column, const Group& group) {
    for (std::size_t j = 0; j < group.count; ++j)
      add_bit(out_[column].validity, group.first + j, is_set(group.row[j], column));
  }

  static void add_bit(std::span<std::byte> bits, std::size_t at, bool is_one) {
    bits[at / 8] |= std::byte{is_one} << (at % 8);
  }

  template <typename Offset>
  void copy_texts(std::size_t column, Group& group) {
    const std::size_t place = layout_.place(column);
    const std::span<std::byte> texts = out_[column].texts;
    std::byte* const offsets = out_[column].values.data() + (group.first + 1) * sizeof(Offset);
    std::uint64_t end = text_bytes_[column];
    for (std::size_t j = 0; j < group.count; ++j) {
      const auto length = load<std::uint32_t>(group.row[j] + place);
      copy_text(group.text[j], length, texts, end);
      group.text[j] += length;
      end += length;
      store(offsets + j * sizeof(Offset), static_cast<Offset>(end));
    }
    text_bytes_[column] = end;
  }

  // A short text is copied with the bytes after it, which the next one overwrites.
  static void copy_text(const std::byte* text, std::uint32_t length, std::span<std::byte> texts,
                        std::uint64_t at) {
    if (at > texts.size()) return;
    const std::uint64_t room = texts.size() - at;
    if (length <= row_tail_bytes && room >= row_tail_bytes) {
      std::memcpy(texts.data() + at, text, row_tail_bytes);
    } else if (length > 0 && length <= room) {
      std::memcpy(texts.data() + at, text, length);
    }
  }

  const RowLayout& layout_;
  std::span<const PackedOutput> out_;
  std::vector<std::uint64_t> text_bytes_;
};

void check_output(const PackedColumn& column, const PackedOutput& out, std::size_t rows) {
  const std::size_t bits = (rows + 7) / 8, bytes = column.bytes;
  const std::size_t wanted = column.kind == Kind::bit     ? bits
                             : column.kind == Kind::value ? rows * bytes
                                                          : (rows + 1) * bytes;
  expect(out.values.size() == wanted, "out has another size");
  expect(out.validity.empty() || out.validity.size() == bits, "out has another size");
}

}  // namespace

PackedTable::PackedTable(std::vector<std::shared_ptr<const PackedRows>> batches)
    : batches_(std::move(batches)), places_(rows_of(batches_)) {
  for (const auto& batch : batches_)
    expect(batch->layout_ == batches_.front()->layout_, "a batch is of another packer");
}

std::vector<std::uint64_t> PackedTable::take(std::span<const std::uint32_t> rows,
                                             std::span<const PackedOutput> out) const {
  expect(!batches_.empty(), "a table without batches has no rows");
  const RowLayout& layout = *batches_.front()->layout_;
  expect(out.size() == layout.columns().size(), "out has other columns");
  for (std::size_t i = 0; i < out.size(); ++i) check_output(layout.columns()[i], out[i], rows.size());

  Unpacking unpacking(layout, out);
  Group groups[2];
  const std::uint32_t* begins[rows_taken_at_once];
  const std::byte* data[rows_taken_at_once];
  const auto find = [&](std::size_t first) {  // prefetches the places of the rows
    for (std::size_t j = 0; j < rows_taken_at_once && first + j < rows.size(); ++j) {
      const ChunkedRows::Place place = places_.place_of(rows[first + j]);
      const PackedRows& batch = *batches_[place.chunk];
      data[j] = batch.data_;
      begins[j] = batch.begins_.data() + place.row;
      prefetch_line(begins[j]);
    }
  };
  const auto ask = [&](Group& group, std::size_t first) {
    group.first = first;
    group.count = first < rows.size() ? std::min(rows_taken_at_once, rows.size() - first) : 0;
    for (std::size_t j = 0; j < group.count; ++j) {
      const std::uint32_t begin = begins[j][0], end = begins[j][1];
      group.row[j] = data[j] + begin;
      if (end > begin) prefetch_record(group.row[j], end - begin);
    }
  };
  find(0);
  ask(groups[0], 0);
  find(rows_taken_at_once);
  for (std::size_t first = 0, turn = 0; first < rows.size(); first += rows_taken_at_once, turn ^= 1) {
    ask(groups[turn ^ 1], first + rows_taken_at_once);
    find(first + 2 * rows_taken_at_once);
    unpacking.copy(groups[turn]);
  }
  return std::move(unpacking).text_bytes();
}

}  // namespace sortcore
