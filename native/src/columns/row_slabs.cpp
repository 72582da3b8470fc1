#include "columns/row_slabs.hpp"

#include <new>
#include <utility>

namespace sortcore {

struct RowSlabs::Slab {
  Slab(std::shared_ptr<RowSlabs> of, Buffer memory) : owner(std::move(of)), buffer(std::move(memory)) {}
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;
  ~Slab() {
    if (const auto slabs = owner.lock()) slabs->recycle(std::move(buffer));
  }
  std::weak_ptr<RowSlabs> owner;
  Buffer buffer;
};

RowSlabs::Stretch RowSlabs::take(std::size_t bytes) {
  std::shared_ptr<Slab> full;  // if this is the last holder, it is returned when nothing is locked
  const std::lock_guard lock(mutex_);
  if (bytes > slab_bytes / 2) {
    auto alone = std::make_shared<Slab>(std::shared_ptr<RowSlabs>(), Buffer(bytes));
    std::byte* const first = alone->buffer.data();
    return {std::move(alone), first};
  }
  if (!open_ || bytes > slab_bytes - used_) {
    full = std::exchange(open_, fresh(slab_bytes));
    used_ = 0;
  }
  std::byte* const first = open_->buffer.data() + used_;
  used_ += bytes;
  return {open_, first};
}

std::shared_ptr<RowSlabs::Slab> RowSlabs::fresh(std::size_t bytes) {
  Buffer buffer;
  if (free_.empty()) {
    buffer = Buffer(bytes);
  } else {
    buffer = std::move(free_.back());
    free_.pop_back();
  }
  return std::make_shared<Slab>(shared_from_this(), std::move(buffer));
}

void RowSlabs::recycle(Buffer buffer) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  } catch (const std::bad_alloc&) {  // then the system gets it back
  }
}

}  // namespace sortcore
