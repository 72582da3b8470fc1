// An output that appears under its name complete or not at all.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sortcore/io/file.hpp"

namespace sortcore {

// Of a path without one, the current directory: ".".
std::string directory_of(const std::string& path);

// Written under another name in the same directory; `commit` syncs it and gives it its name. Until then the
// destructor removes it. Errors name the path the user knows.
class OutputFile {
 public:
  // Throws Error(io), when the directory cannot be written for example.
  OutputFile(std::string path, File::Caching wanted);
  // The same with its size set at once.
  OutputFile(std::string path, std::uint64_t bytes, File::Caching wanted);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  File& file() noexcept { return file_; }
  // From now on everything written here is written under `path` too; both appear with `commit`. To be called
  // before `set_size`. Throws Error(io).
  void add_replica(std::string path, File::Caching wanted);
  void write_exactly(const std::byte* bytes, std::size_t size, std::uint64_t offset);
  // Its final size; reserves the space. Throws Error(io) when the disk is full.
  void set_size(std::uint64_t bytes);
  std::uint64_t size() const noexcept { return bytes_; }

  // Replaces what has the name now, if anything: file data first, then the name, then the directory are on
  // disk.
  void commit();

 private:
  std::string path_;
  std::string partial_path_;
  std::uint64_t bytes_ = 0;
  File file_;
  std::vector<OutputFile> replicas_;
};

}  // namespace sortcore
