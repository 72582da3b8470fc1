// Rejection of a caller's errors.
#pragma once

#include "sortcore/error.hpp"

namespace sortcore {

// Throws Error(bad_input).
inline void expect(bool holds, const char* what) {
  if (!holds) throw Error(ErrorCode::bad_input, what);
}

}  // namespace sortcore
