// The sort benchmark's records, byte for byte as gensort 1.5 writes them.
//
// Record i is made of the pseudo-random numbers r_i ... r_(i+9) of a 128-bit linear congruential generator.
// It can be entered at any i in O(log i) steps, so that parts of the data can be made independently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "sortcore/progress.hpp"
#include "sortcore/u128.hpp"

namespace sortcore {

struct GeneratorOptions {
  bool ascii = false;
  bool skewed = false;  // keys share prefixes, as with `gensort -s`

  friend bool operator==(const GeneratorOptions&, const GeneratorOptions&) = default;
};

inline constexpr std::size_t generated_record_bytes = 100;

// Fills `out` (whole 100-byte records) with records first, first + 1, ... on `threads` threads (0: all
// available). Throws Error(bad_record) for half a record.
void generate_records(U128 first, std::span<std::byte> out, const GeneratorOptions& options,
                      unsigned threads = 1);

// Writes `records` records to `path`; an existing file is replaced only when all is written, and only if
// `replaces`; one progress phase, counted in bytes. Throws Error(io) naming path and offset; then, and on
// cancellation, nothing remains.
void generate_file(const std::string& path, U128 first, std::uint64_t records,
                   const GeneratorOptions& options, unsigned threads = 0, Progress* progress = nullptr,
                   bool replaces = true);

}  // namespace sortcore
