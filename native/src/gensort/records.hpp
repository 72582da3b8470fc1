// Functions that fill a run of consecutive records, one for each format that gensort writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sortcore/u128.hpp"

namespace sortcore::gensort {

void fill_binary(U128 first, std::span<std::byte> out);
void fill_ascii(U128 first, std::span<std::byte> out);

// Replace the beginnings of the keys of the given records by those of a few popular ones.
void skew_binary(U128 first, std::span<std::byte> out);
void skew_ascii(U128 first, std::span<std::byte> out);

}  // namespace sortcore::gensort
