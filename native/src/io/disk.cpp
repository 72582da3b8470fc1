#include "sortcore/io/disk.hpp"

#include <sys/stat.h>

namespace sortcore {

std::uint64_t device_of(const std::string& path) noexcept {
  struct stat about{};
  return ::stat(path.c_str(), &about) == 0 ? static_cast<std::uint64_t>(about.st_dev) : 0;
}

std::uint64_t device_of(int descriptor) noexcept {
  struct stat about{};
  return ::fstat(descriptor, &about) == 0 ? static_cast<std::uint64_t>(about.st_dev) : 0;
}

Disk::Slot::Slot(Disk* disk, Transfer transfer) : disk_(disk), transfer_(transfer) {
  if (disk_ == nullptr) return;
  std::unique_lock lock(disk_->mutex_);
  disk_->freed_.wait(lock, [&] { return disk_->running(transfer_) < disk_->depth_; });
  ++disk_->running(transfer_);
}

Disk::Slot::~Slot() {
  if (disk_ == nullptr) return;
  {
    const std::lock_guard lock(disk_->mutex_);
    --disk_->running(transfer_);
  }
  disk_->freed_.notify_all();  // readers and writers wait together
}

Disk* Disks::of(std::uint64_t device) const noexcept {
  for (const auto& disk : disks_)
    if (disk->device() == device) return disk.get();
  return nullptr;
}

}  // namespace sortcore
