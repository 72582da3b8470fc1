// Hashes of a column's values, whose sums show lost or changed values in any order.
//
// A value becomes words of 64 bits, the last filled up with zeros. Each is multiplied by an odd number of its
// place, and the finalizer of MurmurHash3 (Appleby, 2011) mixes the sum. The hash of a text includes its
// length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sortcore/columns/chunked_rows.hpp"

namespace sortcore {

// Hashes of values of `width` bytes. Throws Error(bad_input) for values of another size in all.
void hash_values(ColumnChunk values, std::size_t width, std::span<std::uint64_t> out);

// Hashes of texts; there is an offset of 4 or 8 bytes more than texts. Throws Error(bad_input) for other
// offsets, Error(bad_record) for a text that ends before it begins or beyond its buffer.
void hash_texts(ColumnChunk offsets, std::size_t offset_bytes, ColumnChunk texts,
                std::span<std::uint64_t> out);

// Adds a column's hashes to those of rows, each mixed with the column's place; returns the sum of the hashes
// mixed alone. Throws Error(bad_input) for another number of rows.
std::uint64_t add_hashes(std::span<const std::uint64_t> hashes, std::uint64_t place,
                         std::span<std::uint64_t> rows);

}  // namespace sortcore
