// Disks, identified by the device numbers of their file systems, and the limits of their concurrent
// transfers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sortcore {

// The device of the file system of a path or an open file; 0 if unknown.
std::uint64_t device_of(const std::string& path) noexcept;
std::uint64_t device_of(int descriptor) noexcept;

class Disk {
 public:
  enum class Transfer : std::uint8_t { read, write };

  // `depth` concurrent transfers of each kind.
  Disk(std::uint64_t device, unsigned depth) : device_(device), depth_(depth) {}

  std::uint64_t device() const noexcept { return device_; }
  unsigned depth() const noexcept { return depth_; }

  // Held during a transfer; granted when fewer than the depth are held. The holder waits for nothing but the
  // disk, so every wait ends.
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
  unsigned& running(Transfer transfer) noexcept { return running_[static_cast<int>(transfer)]; }

  std::uint64_t device_;
  unsigned depth_;
  std::mutex mutex_;
  std::condition_variable freed_;
  unsigned running_[2] = {0, 0};
};

// Their addresses are stable.
class Disks {
 public:
  void add(std::uint64_t device, unsigned depth) { disks_.push_back(std::make_unique<Disk>(device, depth)); }
  // Null if the device has no limit.
  Disk* of(std::uint64_t device) const noexcept;

 private:
  std::vector<std::unique_ptr<Disk>> disks_;
};

}  // namespace sortcore
