// Columns in chunks, copied in any order of their rows, in Arrow's layout.
//
// The chunks of all columns of a table begin at the same rows. A column of values of one size has a buffer
// for each chunk, a column of texts two; bits are stored in sequence from the lowest of each byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sortcore {

using ColumnChunk = std::span<const std::byte>;

// Bits of a chunk from bit `first` on; without `bits` all are set.
struct BitChunk {
  ColumnChunk bits;
  std::uint64_t first = 0;
};

class ChunkedRows {
 public:
  static constexpr std::uint64_t max_rows = 0xffff'ffff;

  // The rows of each chunk. Throws Error(bad_input) above `max_rows`.
  explicit ChunkedRows(std::span<const std::uint64_t> chunk_rows);

  std::uint64_t rows() const noexcept { return begins_.back(); }

  struct Place {
    std::size_t chunk;
    std::uint64_t row;
  };
  // The place of a row. Throws Error(bad_input) for a missing row.
  Place place_of(std::uint32_t row) const;

  // Each of these copies the given `rows`, in that order. All throw Error(bad_input) for a missing row, for a
  // chunk that is too short for its rows, and for an `out` of another size.

  // Values of `width` bytes.
  void gather_values(std::span<const ColumnChunk> chunks, std::size_t width,
                     std::span<const std::uint32_t> rows, std::span<std::byte> out) const;

  // Bits; `out` is padded with zeros.
  void gather_bits(std::span<const BitChunk> chunks, std::span<const std::uint32_t> rows,
                   std::span<std::byte> out) const;

  // End positions of texts. Chunks have an offset more than rows, of 4 or 8 bytes, and so has `out`. Returns
  // the bytes of all texts; the offsets are invalid if that exceeds their range.
  std::uint64_t gather_offsets(std::span<const ColumnChunk> offsets, std::size_t offset_bytes,
                               std::span<const std::uint32_t> rows, std::span<std::byte> out) const;

  // The texts, into as many bytes as gather_offsets returned. Throws Error(bad_record) for one that ends
  // before it begins or beyond its chunk.
  void gather_texts(std::span<const ColumnChunk> offsets, std::size_t offset_bytes,
                    std::span<const ColumnChunk> texts, std::span<const std::uint32_t> rows,
                    std::span<std::byte> out) const;

 private:
  void check_sizes(std::span<const ColumnChunk> chunks, std::uint64_t width, std::uint64_t more_rows) const;
  template <typename Look, typename Copy>
  void for_each_place(std::span<const std::uint32_t> rows, Look look_ahead, Copy copy) const;
  template <typename Value>
  void gather_words(std::span<const ColumnChunk> chunks, std::span<const std::uint32_t> rows,
                    std::byte* out) const;
  template <typename Offset>
  std::uint64_t add_up(std::span<const ColumnChunk> offsets, std::span<const std::uint32_t> rows,
                       std::byte* out) const;
  template <typename Offset>
  void copy_texts(std::span<const ColumnChunk> offsets, std::span<const ColumnChunk> texts,
                  std::span<const std::uint32_t> rows, std::span<std::byte> out) const;

  std::vector<std::uint64_t> begins_;  // of each chunk, and the end of the last
  std::vector<std::size_t> chunk_of_;  // of every row whose number is a multiple of the stride
};

}  // namespace sortcore
