// Keys as bytes that compare like them: unsigned, one after another.
//
// No encoding is a prefix of another of its kind, so that encodings can follow each other, and complemented
// bytes are the descending order. Each function writes to `to`, which has room for `most_encoded_bytes`, and
// returns the end. Keys are given as they appear in the line.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

#include "sortcore/keys/key_order.hpp"

namespace sortcore {

// For a key of `key_bytes`.
constexpr std::size_t most_encoded_bytes(KeyKind kind, std::size_t key_bytes) noexcept {
  constexpr std::size_t of_numbers = 64;
  if (kind == KeyKind::text) return 2 * key_bytes + 1;
  if (kind == KeyKind::natural) return 4 * key_bytes + of_numbers;
  return kind == KeyKind::version ? 8 * key_bytes + of_numbers : key_bytes + of_numbers;
}

// NUL ends the encoding; NUL and 1 within the key take two bytes.
std::byte* encode_text(std::span<const std::byte> key, std::byte* to) noexcept;

// A decimal number of any length at the beginning: its number of digits before the point, then two to a byte.
// Anything else is zero.
std::byte* encode_decimal(std::span<const std::byte> key, std::byte* to) noexcept;

// The same after its suffix: -2M, -1K, numbers without, 1K, 1M.
std::byte* encode_human(std::span<const std::byte> key, std::byte* to) noexcept;

// Values as strtold reads them: invalid numbers, NaNs by their bits, then all others; -0 is 0.
std::byte* encode_general(std::span<const std::byte> key, std::byte* to);

// An integer, a decimal number of any length, a double of IEEE 754: -0 is 0, NaN is the greatest. Throw
// Error(bad_record) for invalid numbers.
std::byte* encode_integer(std::span<const std::byte> key, std::byte* to);
std::byte* encode_number(std::span<const std::byte> key, std::byte* to);
std::byte* encode_float(std::span<const std::byte> key, std::byte* to);

// A date, perhaps with a time, in the order of time: without an offset from UTC it counts as UTC. Throws the
// same.
std::byte* encode_date(std::span<const std::byte> key, const std::string& format, std::byte* to);

// Binary integers and floating-point numbers of IEEE 754, big endian, in the same number of bytes.
// Floating-point numbers have 2, 4 or 8 bytes; -0 is 0, and NaN is the greatest.
std::byte* encode_unsigned(std::span<const std::byte> key, std::byte* to) noexcept;
std::byte* encode_signed(std::span<const std::byte> key, std::byte* to) noexcept;
std::byte* encode_ieee(std::span<const std::byte> key, std::byte* to) noexcept;

// Invalid months, then January to December by three letters.
std::byte* encode_month(std::span<const std::byte> key, std::byte* to) noexcept;

// File names with versions: runs of digits by value, "~" before the end, the suffix only if all else is
// equal.
std::byte* encode_version(std::span<const std::byte> key, std::byte* to);

// Text whose runs of digits compare by value, then by the zeros before them.
std::byte* encode_natural(std::span<const std::byte> key, std::byte* to) noexcept;

// A hash of the key, which differs from seed to seed: equal keys stay together.
std::byte* encode_random(std::span<const std::byte> key, const std::array<std::byte, 16>& seed,
                         std::byte* to) noexcept;

}  // namespace sortcore
