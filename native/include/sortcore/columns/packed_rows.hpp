// Rows of columns packed one after another, so that taking a row reads one place and not one in each column.
//
// A row is its validity bits, its values of fixed size, the lengths of its texts, and the texts. Threads pack
// batches of columns, in Arrow's layout, into shared slabs; a slab without users is reused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sortcore/columns/chunked_rows.hpp"

namespace sortcore {

struct PackedColumn {
  enum class Kind : std::uint8_t { value, bit, text };
  Kind kind;
  std::uint32_t bytes;  // of a value, or of an offset of texts: 4 or 8
};

// A batch's part of a column: values, or offsets, from its first row on; or bits.
struct PackedInput {
  BitChunk validity;  // without bits all values are there
  ColumnChunk values;
  BitChunk bits;
  ColumnChunk texts;
};

// The destination of a column; without `validity` that is left out.
struct PackedOutput {
  std::span<std::byte> validity;
  std::span<std::byte> values;
  std::span<std::byte> texts;
};

class RowSlabs;

// Offsets within a row.
class RowLayout {
 public:
  // Throws Error(bad_input) for a value without bytes and for offsets of other sizes than 4 and 8.
  explicit RowLayout(std::vector<PackedColumn> columns);
  std::span<const PackedColumn> columns() const noexcept { return columns_; }
  std::size_t validity_bytes() const noexcept { return (columns_.size() + 7) / 8; }
  std::size_t fixed_bytes() const noexcept { return fixed_bytes_; }  // with the lengths of texts
  std::size_t place(std::size_t column) const noexcept { return places_[column]; }

 private:
  std::vector<PackedColumn> columns_;
  std::vector<std::size_t> places_;  // of the value, or of the length of the text
  std::size_t fixed_bytes_ = 0;
};

// The rows of a batch; immutable.
class PackedRows {
 public:
  std::uint64_t rows() const noexcept { return begins_.size() - 1; }
  std::uint64_t bytes() const noexcept { return begins_.back() + begins_.size() * sizeof begins_[0]; }
  bool has_nulls(std::size_t column) const noexcept { return has_nulls_[column]; }
  std::uint64_t text_bytes(std::size_t column) const noexcept { return text_bytes_[column]; }

 private:
  friend class RowPacker;
  friend class PackedTable;
  std::shared_ptr<const RowLayout> layout_;
  std::shared_ptr<void> slab_;
  const std::byte* data_ = nullptr;
  std::vector<std::uint32_t> begins_;  // of each row, and the end of the last
  std::vector<bool> has_nulls_;
  std::vector<std::uint64_t> text_bytes_;
};

class RowPacker {
 public:
  explicit RowPacker(std::vector<PackedColumn> columns);
  ~RowPacker();

  // Several threads may pack at once. Throws Error(bad_input) for columns that are too short or fill 4 GiB,
  // Error(bad_record) for a text that ends before it begins or beyond its buffer.
  std::shared_ptr<const PackedRows> pack(std::uint64_t rows, std::span<const PackedInput> columns);

 private:
  std::shared_ptr<const RowLayout> layout_;
  std::shared_ptr<RowSlabs> slabs_;
};

// The rows of several batches of one packer, numbered consecutively.
class PackedTable {
 public:
  explicit PackedTable(std::vector<std::shared_ptr<const PackedRows>> batches);
  std::uint64_t rows() const noexcept { return places_.rows(); }

  // Copies rows in the order of their numbers. Returns the bytes of all texts of each column, 0 for other
  // columns; if `texts` has less room, or the total exceeds the offsets' range, offsets and texts are
  // invalid. Throws Error(bad_input) for a missing row and for an output of another size.
  std::vector<std::uint64_t> take(std::span<const std::uint32_t> rows,
                                  std::span<const PackedOutput> out) const;

 private:
  std::vector<std::shared_ptr<const PackedRows>> batches_;
  ChunkedRows places_;
};

}  // namespace sortcore
