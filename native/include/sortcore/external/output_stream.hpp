// Writing of sorted records to blocks of an output, in order, and of blocks to the disk, in any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "sortcore/io/block_pool.hpp"
#include "sortcore/io/output_file.hpp"
#include "sortcore/io/queue.hpp"

namespace sortcore {

struct WriteJob {
  OutputFile* output;
  BlockPool::Block block;
  std::size_t bytes;
  std::uint64_t offset;
};
using WriteQueue = Queue<WriteJob>;

// Work of a thread that writes blocks and returns them to the pool, until the queue is closed.
void write_blocks(BlockPool& blocks, WriteQueue& queue, StageClock& clock, Progress* progress);

// A block begins on a block boundary of the file whatever the sizes of the partitions: the last block of one
// partition stays open and is completed by the next.
class OutputStream {
 public:
  // Appends from byte `begin` on, which must begin a block.
  OutputStream(OutputFile& output, BlockPool& blocks, std::uint64_t begin = 0)
      : output_(output), blocks_(blocks), position_(begin) {}

  // Fills the next `bytes` of the output: `fill(from, out)` writes the bytes from offset `from` within them
  // to `out`. It is called by `threads` threads at once. Full blocks go to `queue`, and so does the last one
  // of the file.
  using Fill = std::function<void(std::uint64_t from, std::span<std::byte> out)>;
  void append(std::uint64_t bytes, unsigned threads, WriteQueue& queue, StageClock& clock, const Fill& fill);

 private:
  struct Open {
    BlockPool::Block block;
    std::size_t bytes;
  };
  OutputFile& output_;
  BlockPool& blocks_;
  std::uint64_t position_;  // of the next byte to append
  std::optional<Open> open_;
};

}  // namespace sortcore
