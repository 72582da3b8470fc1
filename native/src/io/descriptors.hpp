// The number of files that this process may still open.
#pragma once

#include <cstddef>

namespace sortcore {

// By its limit and by what is open already, as far as the system tells.
std::size_t free_descriptors();

}  // namespace sortcore
