// Bytes appended by callers that know an upper limit of their number.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace sortcore {

class GrowingBytes {
 public:
  // Room for `most` more; bytes written there count once `end_at` confirms them.
  std::byte* room(std::size_t most) {
    if (capacity_ - size_ < most) grow(size_ + most);
    return bytes_.get() + size_;
  }
  void end_at(const std::byte* end) noexcept { size_ = static_cast<std::size_t>(end - bytes_.get()); }
  void clear() noexcept { size_ = 0; }

  std::size_t size() const noexcept { return size_; }
  std::span<const std::byte> bytes() const noexcept { return {bytes_.get(), size_}; }

 private:
  void grow(std::size_t needed) {
    const std::size_t capacity = std::max(needed, 2 * capacity_);
    auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
    if (size_ != 0) std::memcpy(larger.get(), bytes_.get(), size_);
    bytes_ = std::move(larger);
    capacity_ = capacity;
  }

  std::unique_ptr<std::byte[]> bytes_;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace sortcore
