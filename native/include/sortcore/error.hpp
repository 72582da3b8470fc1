// The one exception the core throws on purpose: the error and its location.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

namespace sortcore {

enum class ErrorCode {
  io,          // the operating system refused; `system_errno` has the reason
  bad_input,   // an argument cannot be right (a key outside its record, an output equal to its input)
  bad_record,  // invalid data (half a record, a line over the limit, a damaged summary)
  too_little_memory,
  cancelled,
  input_changed,  // a file was written while it was sorted; the message is its path
};

class Error : public std::exception {
 public:
  static constexpr std::int64_t no_offset = -1;

  Error(ErrorCode code, std::string message, std::string path = {}, std::int64_t offset = no_offset,
        int system_errno = 0);

  // An `io` error whose text names the path, the offset if known, and the system's reason.
  static Error from_errno(const std::string& action, const std::string& path, int system_errno,
                          std::int64_t offset = no_offset);

  ErrorCode code() const noexcept { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }
  const std::string& path() const noexcept { return path_; }
  // Byte offset in `path`, or `no_offset`.
  std::int64_t offset() const noexcept { return offset_; }
  int system_errno() const noexcept { return system_errno_; }

 private:
  ErrorCode code_;
  std::string message_;
  std::string path_;
  std::int64_t offset_;
  int system_errno_;
};

}  // namespace sortcore
