// A file read and written at offsets, past the page cache where the file system allows it.
//
// Direct transfers need addresses, offsets and lengths in whole pages. Buffers come from Buffer or BlockPool
// and offsets are multiples of a block, so only the end of a file is not whole. A read may request the page
// that holds the end, and a write of the last bytes is padded to a page and cut off by `set_size`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sortcore/io/disk.hpp"

namespace sortcore {

inline constexpr std::size_t page_bytes = 4096;

constexpr std::uint64_t round_up_to_pages(std::uint64_t bytes) noexcept {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

class File {
 public:
  enum class Caching : std::uint8_t { direct, buffered };

  // Opens an existing regular file for reading. Throws Error(io); Error(bad_input) for anything but a regular
  // file.
  static File open_to_read(const std::string& path, Caching wanted);
  // Opens an existing file for writing through the page cache; its contents stay. Throws Error(io).
  static File open_to_overwrite(const std::string& path);
  // Creates `path`, which must not exist, for reading and writing; errors name `shown_as` instead.
  static File create(const std::string& path, Caching wanted, const std::string& shown_as, unsigned mode);
  // Creates a file in `directory` that has no name, so that it vanishes with its last user; nothing if the
  // file system, or the system, cannot give it a name later.
  static std::optional<File> create_unnamed(const std::string& directory, Caching wanted,
                                            const std::string& shown_as, unsigned mode);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  const std::string& path() const noexcept { return path_; }
  int descriptor() const noexcept { return descriptor_; }
  std::uint64_t size() const;
  bool is_direct() const noexcept { return direct_.load(std::memory_order_relaxed); }

  // Reads exactly `bytes` at `offset`; `into` needs room for them rounded up to whole pages. Threads may read
  // at once. Throws Error(io) with path and offset, also when the file ends before.
  void read_exactly(std::byte* into, std::size_t bytes, std::uint64_t offset);

  // Writes exactly `bytes` at `offset`; a direct write of part of a page writes the whole page, with what
  // follows in `from` (which must be there). Threads may write at once. Throws Error(io) with path and
  // offset.
  void write_exactly(const std::byte* from, std::size_t bytes, std::uint64_t offset);

  // From now on transfers keep to the limits of the file's disk, if any. `disks` must outlive the file.
  void keep_to(const Disks& disks) noexcept { disk_ = disks.of(device_of(descriptor_)); }
  // Gives a file without a name its first, which must not exist yet.
  void link(const std::string& path);
  void set_mode(unsigned mode);
  // From now on transfers bypass the page cache, if the file system allows that.
  void go_direct() noexcept;
  // Requests the space from the file system; returns false if it cannot reserve it. Throws Error(io) when the
  // disk is full.
  bool preallocate(std::uint64_t offset, std::uint64_t bytes);
  void set_size(std::uint64_t bytes);
  // Frees the space of these bytes, which are zero from now on; the size stays. Throws Error(io), also if
  // the file system does not support that.
  void free_space(std::uint64_t offset, std::uint64_t bytes);
  // Waits until the data and the metadata needed to find it are on the device.
  void sync();
  // Throws Error(io) for an error that the system reports only now.
  void close();

 private:
  File(int descriptor, std::string path, bool direct) noexcept;
  static std::optional<File> open(const std::string& path, int flags, Caching wanted,
                                  const std::string& shown_as, unsigned mode = 0);
  bool leave_direct() noexcept;
  static std::size_t length_to_ask(std::size_t bytes, bool direct) noexcept;
  std::size_t usable_part(std::size_t transferred, std::size_t wanted, bool direct) noexcept;

  int descriptor_ = -1;
  std::string path_;
  Disk* disk_ = nullptr;
  std::atomic<bool> direct_{false};
};

// A name unique in its directory: process numbers repeat in containers.
std::string random_name();

}  // namespace sortcore
