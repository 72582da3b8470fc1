#include "sortcore/progress.hpp"

#include "sortcore/error.hpp"

namespace sortcore {

void Progress::throw_if_cancelled() const {
  if (is_cancelled()) throw Error(ErrorCode::cancelled, "cancelled");
}

}  // namespace sortcore
