// An output that appears under its name complete or not at all.
#pragma once

#include <cstdint>
#include <string>

#include "sortcore/io/file.hpp"

namespace sortcore {

// Written under another name in the same directory; `commit` syncs it and gives it its name. Until then the
// destructor removes it. Errors name the path the user knows.
class OutputFile {
 public:
  // Reserves `bytes`. Throws Error(io), when the directory cannot be written or the disk is full for example.
  OutputFile(std::string path, std::uint64_t bytes, File::Caching wanted);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  File& file() noexcept { return file_; }
  std::uint64_t size() const noexcept { return bytes_; }
  bool is_preallocated() const noexcept { return preallocated_; }

  // Replaces what has the name now, if anything: file data first, then the name, then the directory are on
  // disk.
  void commit();

 private:
  std::string path_;
  std::string partial_path_;
  std::uint64_t bytes_;
  File file_;
  bool preallocated_ = false;
};

}  // namespace sortcore
