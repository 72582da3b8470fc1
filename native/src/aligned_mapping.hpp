// Address space that begins on a huge page.
#pragma once

#include <cstddef>

namespace sortcore {

// Maps whole pages of no file, aligned to a huge page, with mmap's `protection` and further `flags`. Returns
// null, and leaves errno, where the system refuses.
std::byte* map_aligned(std::size_t bytes, int protection, int flags) noexcept;

}  // namespace sortcore
