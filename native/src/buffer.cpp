#include "sortcore/buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <utility>

#include "aligned_mapping.hpp"
#include "sortcore/control_groups.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

[[noreturn]] void throw_too_little(std::size_t bytes) {
  throw Error(ErrorCode::too_little_memory,
              "the system has no " + std::to_string(bytes) + " bytes of memory left to give");
}

std::byte* map_pages(std::size_t bytes) {
  void* pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : static_cast<std::byte*>(pages);
}

std::size_t mapped_bytes(std::size_t bytes) {
  const bool small = bytes < Buffer::huge_page_bytes / 2;
  return round_up(bytes, small ? static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) : Buffer::huge_page_bytes);
}

}  // namespace

void require_memory(std::size_t bytes) {
  constexpr std::size_t least_checked_bytes = 16 << 20;
  if (bytes > least_checked_bytes && bytes > memory_left_bytes()) throw_too_little(bytes);
}

Buffer::Buffer(std::size_t bytes) {
  if (bytes == 0) return;
  if (bytes > SIZE_MAX / 2) throw_too_little(bytes);
  const std::size_t mapped = mapped_bytes(bytes);
  data_ = mapped % huge_page_bytes == 0 ? map_aligned(mapped, PROT_READ | PROT_WRITE, 0) : map_pages(mapped);
  if (data_ == nullptr) throw_too_little(bytes);
  bytes_ = mapped;
#ifdef MADV_HUGEPAGE
  if (mapped % huge_page_bytes == 0) madvise(data_, mapped, MADV_HUGEPAGE);
#endif
}

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    release();
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Buffer::~Buffer() { release(); }

void Buffer::release() noexcept {
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = nullptr;
  bytes_ = 0;
}

void Buffer::reserve_discarding(std::size_t bytes) {
  if (bytes <= bytes_) return;
  release();
  *this = Buffer(bytes);
}

void Buffer::grow(std::size_t bytes) {
  if (bytes <= bytes_) return;
  require_memory(bytes - bytes_);
#ifdef MREMAP_MAYMOVE
  if (data_ != nullptr && bytes <= SIZE_MAX / 2) {
    const std::size_t larger = mapped_bytes(bytes);
    void* const pages = mremap(data_, bytes_, larger, MREMAP_MAYMOVE);
    if (pages == MAP_FAILED) throw_too_little(bytes);
    data_ = static_cast<std::byte*>(pages);
    bytes_ = larger;
    return;
  }
#endif
  Buffer larger(bytes);
  if (bytes_ != 0) std::memcpy(larger.data_, data_, bytes_);
  *this = std::move(larger);
}

void Buffer::prefault(unsigned threads) noexcept {
  constexpr std::size_t step = 4096;
  const auto touch = [this](Range pages) {
    for (std::uint64_t page = pages.begin; page < pages.end; ++page) {
      volatile std::byte* byte = data_ + page * step;
      *byte = *byte;
    }
  };
  const std::uint64_t pages = bytes_ / step;
  try {
    run_parallel(threads, [&](unsigned index) { touch(part_of(pages, index, threads)); });
  } catch (...) {
    touch({0, pages});
  }
}

}  // namespace sortcore
