#include "sortcore/io/block_pool.hpp"

namespace sortcore {

BlockPool::BlockPool(Monitor& monitor, std::size_t block_bytes, std::size_t blocks)
    : monitor_(monitor),
      freed_(monitor),
      block_bytes_(block_bytes),
      blocks_(blocks),
      memory_(block_bytes * blocks) {
  for (std::size_t block = blocks; block-- > 0;) free_.push_back(static_cast<Block>(block));
}

BlockPool::Block BlockPool::acquire(StageClock& clock) {
  auto lock = monitor_.lock();
  freed_.wait(lock, clock, [&] { return !free_.empty(); });
  // The block returned last is the one most likely still in the cache.
  const Block block = free_.back();
  free_.pop_back();
  return block;
}

void BlockPool::release(Block block) {
  {
    const auto lock = monitor_.lock();
    free_.push_back(block);
    monitor_.count_hand_over();
  }
  freed_.notify_one();
}

}  // namespace sortcore
