// Numbers of things in messages.
#pragma once

#include <cstdint>
#include <string>

namespace sortcore {

// Returns "1 row" or "2 rows".
inline std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace sortcore
