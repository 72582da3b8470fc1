// Reusable blocks of memory, and waiting for them: back-pressure from a slow stage on a fast one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sortcore/buffer.hpp"
#include "sortcore/io/monitor.hpp"

namespace sortcore {

// Equal blocks in one huge-page buffer, each aligned to a page if `block_bytes` is whole pages. A stage that
// finds no free block waits until a later stage returns one, which wakes one waiting thread.
class BlockPool {
 public:
  using Block = std::uint32_t;

  BlockPool(Monitor& monitor, std::size_t block_bytes, std::size_t blocks);

  std::size_t block_bytes() const noexcept { return block_bytes_; }
  std::size_t blocks() const noexcept { return blocks_; }
  std::byte* data(Block block) noexcept { return memory_.data() + std::size_t{block} * block_bytes_; }

  Block acquire(StageClock& clock);
  void release(Block block);

 private:
  Monitor& monitor_;
  Condition freed_;
  std::size_t block_bytes_;
  std::size_t blocks_;
  Buffer memory_;
  std::vector<Block> free_;
};

}  // namespace sortcore
