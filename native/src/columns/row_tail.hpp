// The space after the last row of a batch: texts are copied in pieces, and the last may reach beyond.
#pragma once

#include <cstddef>

namespace sortcore {

inline constexpr std::size_t row_tail_bytes = 32;

}  // namespace sortcore
