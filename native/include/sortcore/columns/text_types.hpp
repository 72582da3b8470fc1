// The types that keep every value of a column of texts, as columns of CSV are.
#pragma once

#include <cstdint>
#include <string_view>

#include "sortcore/columns/chunked_rows.hpp"

namespace sortcore {

// Bits of a set of types.
namespace text_type {
inline constexpr std::uint8_t integer = 1;   // of 64 bits, as it is written back: 007 and -0 are none
inline constexpr std::uint8_t floating = 2;  // of 64 bits: at most 17 digits, 15 of a whole number
inline constexpr std::uint8_t truth = 4;     // true, True, TRUE and the same of false
inline constexpr std::uint8_t date = 8;      // 2026-11-30, a day that there is
inline constexpr std::uint8_t microsecond =
    16;  // 2026-11-30 12:05, with seconds and up to six digits of them
inline constexpr std::uint8_t microsecond_utc = 32;  // the same with Z or +01:00
inline constexpr std::uint8_t nanosecond = 64;       // up to nine digits, in the years that these have
inline constexpr std::uint8_t nanosecond_utc = 128;
}  // namespace text_type

// The types that keep a value.
std::uint8_t types_of_text(std::string_view text) noexcept;

// Those of `able` that keep all values that there are among the `rows`; `offsets` have 4 bytes. Throws
// Error(bad_record) for a text that ends before it begins or beyond its buffer, Error(bad_input) for buffers
// that are too short.
std::uint8_t types_of_texts(std::uint64_t rows, BitChunk validity, ColumnChunk offsets, ColumnChunk texts,
                            std::uint8_t able);

}  // namespace sortcore
