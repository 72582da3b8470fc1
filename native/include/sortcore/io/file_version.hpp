// The version of a file, to notice that an input was written or replaced while it was sorted.
#pragma once

#include <sys/stat.h>

#include <span>
#include <string>

namespace sortcore {

class FileVersion {
 public:
  // Throws Error(io).
  explicit FileVersion(std::string path);
  // Throws Error(input_changed) for a file that was written, or another of the same name; it may be gone.
  void require_unchanged() const;

 private:
  std::string path_;
  struct stat status_{};
};

void require_unchanged(std::span<const FileVersion> files);

}  // namespace sortcore
