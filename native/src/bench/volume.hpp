// A volume that DiskBench processes block by block: one file, or several striped into one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sortcore/bench/disk_bench.hpp"
#include "sortcore/bench/window.hpp"
#include "sortcore/io/file.hpp"

namespace sortcore {

// A nameless file in each directory. With several, stripes of `request.stripe_bytes` take turns, as in
// RAID-0; `request.file_bytes` of each are processed cyclically from the beginning.
class Volume {
 public:
  Volume(const std::vector<std::string>& directories, bool is_written, const DiskBenchRequest& request,
         const Window& window);

  // Counts the bytes it moves.
  void read_next(std::byte* block);
  void write_next(const std::byte* block);

  // Writes the next block of the first pass, not counted; false when there is none left.
  bool fill_next(std::byte* block);
  // Ends the filling: the data is on the disks, and the next block is the first again.
  void finish_filling();

  std::size_t block_bytes() const noexcept { return block_bytes_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  // Concurrent transfers, each of one member at a time.
  unsigned threads() const noexcept { return threads_; }
  void add_reports(std::vector<VolumeReport>& reports) const;

 private:
  struct Member {
    Member(const std::string& directory, std::uint64_t bytes, bool allow_direct, const Window& window);

    std::string directory;
    File file;
    bool is_preallocated;
    Meter meter;
  };

  // Calls transfer(member, offset in the block, offset in the member, bytes) for each piece of a block.
  template <typename Transfer>
  void for_each_piece(std::uint64_t offset, Transfer transfer);
  std::uint64_t next_offset() { return next_.fetch_add(block_bytes_) % bytes_; }

  bool is_written_;
  std::size_t block_bytes_;
  std::uint64_t bytes_;
  std::uint64_t stripe_bytes_;
  unsigned threads_;
  std::vector<std::unique_ptr<Member>> members_;
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace sortcore
