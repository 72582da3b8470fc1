// Temporary space on one or more disks that vanishes with the process, however it ends.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sortcore/io/file.hpp"

namespace sortcore {

// A new file in `directory` that has no name, so that it vanishes with its last user. Throws Error(io).
File create_unlinked(const std::string& directory, File::Caching wanted);

// Throws Error(io) for scratch data that differs from what was written.
[[noreturn]] void fail_damaged(const std::string& path, std::uint64_t offset);

// A place in the scratch files.
struct Extent {
  std::uint32_t file;
  std::uint64_t offset;
};

// Unlinked files: in every directory one per group of extents. Extents of a group go to the directories in
// turn, so that several disks work at once. A file is returned to the system as soon as all of it has been
// read, because that takes long for a large file and is better done during other transfers. Space is reserved
// in strides, ahead of the writes. Threads may use it at once.
class ScratchFiles {
 public:
  static constexpr std::size_t groups = 8;

  // Opens nothing yet: a sort that fits in memory needs no scratch. Transfers keep to the limits of `disks`,
  // if any, which must outlive this.
  ScratchFiles(std::vector<std::string> directories, File::Caching wanted, const Disks* disks = nullptr);
  ~ScratchFiles();

  // Writes `bytes` to a new extent of whole pages. Throws Error(io) naming directory and offset.
  Extent write(const std::byte* from, std::size_t bytes, std::size_t group);
  void read(std::byte* into, std::size_t bytes, const Extent& extent);
  // Marks the extent as no longer needed.
  void discard(const Extent& extent);
  // Throws Error(io) for an extent that differs from what was written.
  [[noreturn]] void fail_damaged(const Extent& extent) const;

 private:
  struct Scratch;

  File::Caching wanted_;
  const Disks* disks_;
  std::atomic<std::uint32_t> turn_{0};
  std::vector<std::unique_ptr<Scratch>> files_;  // directory by directory within a group
};

}  // namespace sortcore
