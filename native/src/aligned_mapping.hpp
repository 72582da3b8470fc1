// Address space that begins on a huge page.
#pragma once

#include <cstddef>

namespace sortcore {

// Maps whole anonymous pages, aligned to a huge page, with mmap's `protection` and further `flags`. Returns
// null, and leaves errno, if the system refuses.
std::byte* map_aligned(std::size_t bytes, int protection, int flags) noexcept;

}  // namespace sortcore
