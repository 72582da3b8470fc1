// Disks, told apart by the device numbers of their file systems, and how many transfers each has under way.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sortcore {

// Of the file system that holds a path, or an open file; 0 if that cannot be told.
std::uint64_t device_of(const std::string& path) noexcept;
std::uint64_t device_of(int descriptor) noexcept;

class Disk {
 public:
  enum class Transfer : std::uint8_t { read, write };

  // So many transfers of each kind at once.
  Disk(std::uint64_t device, unsigned depth) : device_(device), depth_(depth) {}

  std::uint64_t device() const noexcept { return device_; }
  unsigned depth() const noexcept { return depth_; }

  // Held while a transfer is under way; begins when there are fewer than the depth. Who holds one waits for
  // nothing but the disk, so every wait ends.
  class Slot {
   public:
    // Null: a disk without a limit.
    Slot(Disk* disk, Transfer transfer);
    ~Slot();
    Slot(const Slot&) = delete;
    Slot& operator=(const Slot&) = delete;

   private:
    Disk* disk_;
    Transfer transfer_;
  };

 private:
  unsigned& under_way(Transfer transfer) noexcept { return under_way_[static_cast<int>(transfer)]; }

  std::uint64_t device_;
  unsigned depth_;
  std::mutex mutex_;
  std::condition_variable freed_;
  unsigned under_way_[2] = {0, 0};
};

// They stay where they are.
class Disks {
 public:
  void add(std::uint64_t device, unsigned depth) { disks_.push_back(std::make_unique<Disk>(device, depth)); }
  // Null where the device has no limit.
  Disk* of(std::uint64_t device) const noexcept;

 private:
  std::vector<std::unique_ptr<Disk>> disks_;
};

}  // namespace sortcore
