// A file that cannot be replaced by a new one, because its directory allows none or it is a mount point.
#pragma once

#include <cstdint>
#include <string>

#include "sortcore/io/file.hpp"
#include "sortcore/io/output_file.hpp"

namespace sortcore {

// Its contents may be among the inputs. So it stays until all is sorted, in a scratch file, and is then
// overwritten. Meanwhile the scratch file has a name, so that no failure or kill loses the sorted data.
class OverwrittenFile {
 public:
  // Throws Error(io) with the system's reason if `path` cannot be written, or `directory` allows no scratch
  // file.
  OverwrittenFile(const std::string& path, const std::string& directory);
  ~OverwrittenFile();
  OverwrittenFile(const OverwrittenFile&) = delete;
  OverwrittenFile& operator=(const OverwrittenFile&) = delete;

  File& scratch() noexcept { return scratch_; }
  // Copies `bytes` from the scratch file. Throws Error(io): without room for them the file is unchanged,
  // otherwise the error names the scratch file, which stays.
  void finish(std::uint64_t bytes, OutputFile::Durability durability);

 private:
  File create_scratch(const std::string& directory);
  void reserve(std::uint64_t bytes);
  void name_scratch(std::uint64_t bytes, OutputFile::Durability durability);
  void write_over(std::uint64_t bytes, OutputFile::Durability durability);

  File target_;
  std::string scratch_path_;
  bool has_name_ = false;  // the scratch file
  File scratch_;
};

}  // namespace sortcore
