// Memory of packed rows: slabs in huge pages that are touched once, and reused when their rows are gone.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "sortcore/buffer.hpp"

namespace sortcore {

class RowSlabs : public std::enable_shared_from_this<RowSlabs> {
 public:
  static constexpr std::size_t slab_bytes = std::size_t{8} << 20;

  struct Stretch {
    std::shared_ptr<void> slab;  // keeps the bytes alive
    std::byte* bytes = nullptr;
  };

  // Several threads may call it at once.
  Stretch take(std::size_t bytes);

 private:
  struct Slab;

  std::shared_ptr<Slab> fresh(std::size_t bytes);
  void recycle(Buffer buffer) noexcept;

  std::mutex mutex_;
  std::vector<Buffer> free_;
  std::shared_ptr<Slab> open_;
  std::size_t used_ = 0;
};

}  // namespace sortcore
