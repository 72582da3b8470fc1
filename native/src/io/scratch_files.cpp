#include "sortcore/io/scratch_files.hpp"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sortcore/error.hpp"

namespace sortcore {
namespace {

constexpr std::uint64_t stride_bytes = 512'000'000;

// The name lives for an instant only: unlinked at once, the space is freed when the process ends, even by
// SIGKILL.
File create_unlinked(const std::string& directory, File::Caching wanted) {
  static std::atomic<unsigned> number{0};
  const std::string path =
      directory + "/.sortcore-" + std::to_string(::getpid()) + "-" + std::to_string(number++);
  File file = File::create(path, wanted, "temporary file in " + directory);
  ::unlink(path.c_str());
  return file;
}

}  // namespace

struct ScratchFiles::Disk {
  std::string directory;
  std::mutex mutex;
  std::optional<File> file;
  std::uint64_t used_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  bool can_reserve = true;

  std::uint64_t take(std::size_t bytes) {
    const std::lock_guard lock(mutex);
    if (can_reserve && used_bytes + bytes > reserved_bytes) reserve(bytes);
    return std::exchange(used_bytes, used_bytes + bytes);
  }

  // A nearly full disk may still hold what is needed: only a write can tell, and reports it.
  void reserve(std::size_t bytes) {
    const std::uint64_t stride = std::max<std::uint64_t>(stride_bytes / bytes, 1) * bytes;
    try {
      can_reserve = file->preallocate(reserved_bytes, stride);
      reserved_bytes += stride;
    } catch (const Error&) {
      can_reserve = false;
    }
  }
};

ScratchFiles::ScratchFiles(std::vector<std::string> directories, std::size_t extent_bytes,
                           File::Caching wanted)
    : extent_bytes_(extent_bytes), wanted_(wanted) {
  for (std::string& directory : directories) {
    disks_.push_back(std::make_unique<Disk>());
    disks_.back()->directory = std::move(directory);
  }
}

ScratchFiles::~ScratchFiles() = default;

Extent ScratchFiles::write(const std::byte* from, std::size_t bytes) {
  const auto index = static_cast<std::uint32_t>(turn_.fetch_add(1) % disks_.size());
  Disk& disk = opened(index);
  const Extent extent{index, disk.take(extent_bytes_)};
  disk.file->write_exactly(from, bytes, extent.offset);
  return extent;
}

void ScratchFiles::read(std::byte* into, std::size_t bytes, const Extent& extent) {
  disks_[extent.file]->file->read_exactly(into, bytes, extent.offset);
}

bool ScratchFiles::is_direct() const noexcept {
  return std::all_of(disks_.begin(), disks_.end(),
                     [](const auto& disk) { return disk->file && disk->file->is_direct(); });
}

ScratchFiles::Disk& ScratchFiles::opened(std::uint32_t index) {
  Disk& disk = *disks_[index];
  const std::lock_guard lock(disk.mutex);
  if (!disk.file) disk.file.emplace(create_unlinked(disk.directory, wanted_));
  return disk;
}

}  // namespace sortcore
