#include "sortcore/lines/line_format.hpp"

#include "sortcore/error.hpp"

namespace sortcore {

void LineFormat::check() const {
  if (key_bytes == 0) throw Error(ErrorCode::bad_input, "a key of lines has at least one byte");
}

}  // namespace sortcore
