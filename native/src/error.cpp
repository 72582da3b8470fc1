#include "sortcore/error.hpp"

#include <cstring>
#include <system_error>
#include <utility>

namespace sortcore {

Error::Error(ErrorCode code, std::string message, std::string path, std::int64_t offset, int system_errno)
    : code_(code),
      message_(std::move(message)),
      path_(std::move(path)),
      offset_(offset),
      system_errno_(system_errno) {}

Error Error::from_errno(const std::string& action, const std::string& path, int system_errno,
                        std::int64_t offset) {
  std::string message = "cannot " + action + " " + path;
  if (offset != no_offset) message += " at byte " + std::to_string(offset);
  message += ": " + std::generic_category().message(system_errno);
  return Error(ErrorCode::io, std::move(message), path, offset, system_errno);
}

}  // namespace sortcore
