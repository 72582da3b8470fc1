// Rows of columns packed one behind the other, so that to take a row is to read one place and not one of each
// column.
//
// A row is its validity bits, its values of fixed size, the lengths of its texts, and the texts. Threads pack
// batches of columns, as Arrow lays them out, into slabs that they share; a slab that nobody needs any more
// is used again.
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

// What a batch has of a column: values, or offsets, from its first row on; or bits.
struct PackedInput {
  BitChunk validity;  // without bits all values are there
  ColumnChunk values;
  BitChunk bits;
  ColumnChunk texts;
};

// Where a column goes; without `validity` that is left out.
struct PackedOutput {
  std::span<std::byte> validity;
  std::span<std::byte> values;
  std::span<std::byte> texts;
};

class RowSlabs;

// Offsets within a row.
class RowLayout {
 public:
  // Throws Error(bad_input) for a value without bytes and for offsets of another size than 4 or 8.
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

// The rows of a batch; they do not change.
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
  // Error(bad_record) for a text that ends before it begins or behind its buffer.
  std::shared_ptr<const PackedRows> pack(std::uint64_t rows, std::span<const PackedInput> columns);

 private:
  std::shared_ptr<const RowLayout> layout_;
  std::shared_ptr<RowSlabs> slabs_;
};

// The rows of several batches of one packer, numbered through.
class PackedTable {
 public:
  explicit PackedTable(std::vector<std::shared_ptr<const PackedRows>> batches);
  std::uint64_t rows() const noexcept { return places_.rows(); }

  // Copies rows in the order of their numbers. Returns the bytes of all texts of each column, 0 for other
  // columns; where `texts` has less room, or offsets cannot say so much, offsets and texts are useless.
  // Throws Error(bad_input) for a row that is not there and for an output of another size.
  std::vector<std::uint64_t> take(std::span<const std::uint32_t> rows,
                                  std::span<const PackedOutput> out) const;

 private:
  std::vector<std::shared_ptr<const PackedRows>> batches_;
  ChunkedRows places_;
};

}  // namespace sortcore
