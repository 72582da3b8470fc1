// The number of files that this process can still open.
#pragma once

#include <cstddef>

namespace sortcore {

// From its limit and its open files, as far as the system reports them.
std::size_t free_descriptors();

}  // namespace sortcore
