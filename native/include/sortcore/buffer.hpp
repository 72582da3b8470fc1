// Memory in huge pages, kept and reused.
//
// The first touch of fresh memory costs more than sorting its contents (0.3-0.9 GB/s in 4 KiB pages on the
// virtual machines measured). So buffers ask for huge pages, are touched once, and never shrink until they
// are destroyed.
#pragma once

#include <cstddef>
#include <span>

namespace sortcore {

class Buffer {
 public:
  static constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

  Buffer() noexcept = default;
  // Zero-filled; `data` is aligned to a huge page from half a huge page on, to a page below. Throws
  // Error(too_little_memory).
  explicit Buffer(std::size_t bytes);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  // Makes room for at least `bytes`. The contents are lost if the buffer has to grow, kept otherwise.
  void reserve_discarding(std::size_t bytes);

  // Makes room for at least `bytes` and keeps the contents. The system moves pages, so nothing is held twice.
  void grow(std::size_t bytes);

  // Touches every page now, with `threads` threads, so that no thread waits for the kernel later.
  void prefault(unsigned threads) noexcept;

  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return bytes_; }
  std::span<std::byte> first(std::size_t bytes) noexcept { return {data_, bytes}; }
  std::span<const std::byte> first(std::size_t bytes) const noexcept { return {data_, bytes}; }

  // The buffer as an array of T; it must be large enough.
  template <typename T>
  T* as() noexcept {
    return reinterpret_cast<T*>(data_);
  }

 private:
  void release() noexcept;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// Throws `too_little_memory` unless the system has so much left, for what will all be filled: Linux gives
// pages that it does not have, and kills the process that fills them.
void require_memory(std::size_t bytes);

}  // namespace sortcore
