#include "sortcore/io/scratch_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sortcore/error.hpp"

namespace sortcore {
namespace {

constexpr std::uint64_t stride_bytes = 31'250 * page_bytes;

}  // namespace

// A file that needs a name has it for an instant only: unlinked at once, its space is freed when the process
// ends, even by SIGKILL.
File create_unlinked(const std::string& directory, File::Caching wanted) {
  constexpr unsigned for_the_owner = 0600;
  const std::string shown_as = "temporary file in " + directory;
  if (auto file = File::create_unnamed(directory, wanted, shown_as, for_the_owner)) return std::move(*file);
  const std::string path = directory + "/.sortcore-" + random_name();
  File file = File::create(path, wanted, shown_as, for_the_owner);
  ::unlink(path.c_str());
  return file;
}

void fail_damaged(const std::string& path, std::uint64_t offset) {
  throw Error(ErrorCode::io,
              "read " + path + " at byte " + std::to_string(offset) +
                  ": what lies there is not what was written; check the disk and its file system",
              path, static_cast<std::int64_t>(offset));
}

// While `live` extents are written, being written or not yet read, `file` stays as it is.
struct ScratchFiles::Scratch {
  std::string directory;
  std::mutex mutex;
  std::optional<File> file;
  std::uint64_t live = 0;
  std::uint64_t used_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  bool can_reserve = true;

  std::uint64_t take(std::size_t bytes, File::Caching wanted, const Disks* disks) {
    const std::lock_guard lock(mutex);
    if (!file) {
      file.emplace(create_unlinked(directory, wanted));
      if (disks != nullptr) file->keep_to(*disks);
    }
    if (can_reserve && used_bytes + bytes > reserved_bytes) reserve(bytes);
    ++live;
    return std::exchange(used_bytes, used_bytes + bytes);
  }

  // A nearly full disk may still have enough room: only a write can show it, and reports the error.
  void reserve(std::size_t bytes) {
    const std::uint64_t stride = std::max<std::uint64_t>(stride_bytes, bytes);
    try {
      can_reserve = file->preallocate(reserved_bytes, stride);
      reserved_bytes += stride;
    } catch (const Error&) {
      can_reserve = false;
    }
  }

  // Returns the file once nothing in it is needed any more; to be closed without the lock.
  std::optional<File> drop() {
    const std::lock_guard lock(mutex);
    if (--live > 0) return std::nullopt;
    used_bytes = reserved_bytes = 0;
    return std::exchange(file, std::nullopt);
  }
};

ScratchFiles::ScratchFiles(std::vector<std::string> directories, File::Caching wanted, const Disks* disks)
    : wanted_(wanted), disks_(disks) {
  for (std::size_t group = 0; group < groups; ++group) {
    for (const std::string& directory : directories) {
      files_.push_back(std::make_unique<Scratch>());
      files_.back()->directory = directory;
    }
  }
}

ScratchFiles::~ScratchFiles() = default;

Extent ScratchFiles::write(const std::byte* from, std::size_t bytes, std::size_t group) {
  const std::size_t directories = files_.size() / groups;
  const auto index = static_cast<std::uint32_t>(group * directories + turn_.fetch_add(1) % directories);
  Scratch& scratch = *files_[index];
  const Extent extent{index, scratch.take(round_up_to_pages(bytes), wanted_, disks_)};
  scratch.file->write_exactly(from, bytes, extent.offset);
  return extent;
}

void ScratchFiles::read(std::byte* into, std::size_t bytes, const Extent& extent) {
  files_[extent.file]->file->read_exactly(into, bytes, extent.offset);
}

void ScratchFiles::fail_damaged(const Extent& extent) const {
  sortcore::fail_damaged(files_[extent.file]->file->path(), extent.offset);
}

void ScratchFiles::discard(const Extent& extent) { files_[extent.file]->drop(); }

}  // namespace sortcore
