// The version of a file, to notice that an input was written or replaced while it was sorted.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>

namespace sortcore {

class FileVersion {
 public:
  // A file that `may_grow` can be appended to, which pieces of its content then show. Throws Error(io).
  explicit FileVersion(std::string path, bool may_grow = false);
  // Throws Error(input_changed) for a file that was written, or another of the same name; it may be gone.
  void require_unchanged() const;

 private:
  std::string path_;
  struct stat status_{};
  bool may_grow_;
  std::uint32_t pieces_ = 0;
};

void require_unchanged(std::span<const FileVersion> files);

}  // namespace sortcore
