// A file that no new one can replace, because its directory takes none or it is a mount point.
#pragma once

#include <cstdint>
#include <string>

#include "sortcore/io/file.hpp"
#include "sortcore/io/output_file.hpp"

namespace sortcore {

// What it holds may be among the inputs. So it stays until all is sorted, in a scratch file, and is written
// over then.
class OverwrittenFile {
 public:
  // Throws Error(io) with the system's reason if `path` cannot be written, or `directory` takes no scratch
  // file.
  OverwrittenFile(const std::string& path, const std::string& directory);

  File& scratch() noexcept { return scratch_; }
  // Copies so many bytes from the scratch file.
  void finish(std::uint64_t bytes, OutputFile::Durability durability);

 private:
  File target_, scratch_;
};

}  // namespace sortcore
