// Mapped files that may shrink without killing the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sortcore/io/file.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

// Touching a mapped page beyond a file's new end raises SIGBUS. While a mapping lives, a handler (which
// passes other faults on to the previous handler) puts a page of zeros in its place and notes it; `check`
// then reports it. At most `max_mappings` at once in a process.
class InputMapping {
 public:
  static constexpr std::size_t max_mappings = 64;

  // One of the files: its beginning in bytes(), and its mapped length.
  struct Part {
    const File* file;
    std::uint64_t first_byte;
    std::uint64_t bytes;
  };

  // Maps the first `bytes` of `file`, which must outlive this. Throws Error(io).
  InputMapping(const File& file, std::size_t bytes);
  // Maps the first sizes[i] bytes of each of several files, in their order, at multiples of `unit_bytes`,
  // which are whole pages. Bytes between two of them may be read and have no meaning.
  InputMapping(std::span<const File> files, std::span<const std::uint64_t> sizes, std::size_t unit_bytes);
  ~InputMapping();
  InputMapping(const InputMapping&) = delete;
  InputMapping& operator=(const InputMapping&) = delete;

  // Maps all pages now, with `threads` threads, so that no thread waits for the kernel later; if the system
  // cannot, they are mapped as they are touched. Throws Error(cancelled).
  void populate(unsigned threads, const Progress* progress) const;

  // All bytes from the beginning of the first file to the end of the last.
  std::span<const std::byte> bytes() const noexcept { return {data_, bytes_}; }
  // The non-empty files.
  std::span<const Part> parts() const noexcept { return parts_; }
  // Total over all files.
  std::uint64_t file_bytes() const noexcept;

  // Throws Error(io) with path and offset if a page was missing since the mapping was made.
  void check() const;
  // Checks, and unmaps: bytes() is empty from then on. For a caller with other work meanwhile, since a
  // gigabyte takes some hundredths of a second.
  void close();

 private:
  void place(std::span<const File> files, std::span<const std::uint64_t> sizes, std::size_t unit_bytes);
  void unmap() noexcept;

  std::vector<Part> parts_;
  const std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t slot_ = 0;
};

// The share, 0 to 1, of the first `bytes` of `file` that is in the page cache, from a sample of its pages; 0
// if the system does not report it.
double cached_share(const File& file, std::size_t bytes);

}  // namespace sortcore
