#include "sortcore/external/output_stream.hpp"

#include <algorithm>
#include <atomic>

#include "sortcore/threads.hpp"

namespace sortcore {

void write_blocks(BlockPool& blocks, WriteQueue& queue, StageClock& clock, Progress* progress) {
  const LifeTimer timer(clock);
  while (const auto job = queue.pop(clock)) {
    job->output->write_exactly(blocks.data(job->block), job->bytes, job->offset);
    blocks.release(job->block);
    clock.bytes += job->bytes;
    add_progress(progress, job->bytes);
  }
}

void OutputStream::append(std::uint64_t bytes, unsigned threads, WriteQueue& queue, StageClock& clock,
                          const Fill& fill) {
  if (bytes == 0) return;
  const std::uint64_t block_bytes = blocks_.block_bytes();
  const std::uint64_t begin = position_;
  const std::uint64_t end = begin + bytes;
  const std::uint64_t first = begin / block_bytes;
  const std::uint64_t past = (end + block_bytes - 1) / block_bytes;
  const std::optional<Open> opened = std::exchange(open_, std::nullopt);
  std::optional<Open> left_open;  // written by the one thread that meets the last block
  std::atomic<std::uint64_t> next{first};
  run_parallel(static_cast<unsigned>(std::min<std::uint64_t>(threads, past - first)), [&](unsigned) {
    const LifeTimer timer(clock);
    for (std::uint64_t index = next++; index < past; index = next++) {
      const std::uint64_t block_begin = index * block_bytes;
      const std::uint64_t from = std::max(begin, block_begin);
      const std::uint64_t to = std::min(end, block_begin + block_bytes);
      const BlockPool::Block block = index == first && opened ? opened->block : blocks_.acquire(clock);
      fill(from - begin, {blocks_.data(block) + (from - block_begin), static_cast<std::size_t>(to - from)});
      clock.bytes += to - from;
      if (to == block_begin + block_bytes || to == output_.size()) {
        queue.push({&output_, block, static_cast<std::size_t>(to - block_begin), block_begin});
      } else {
        left_open = Open{block, static_cast<std::size_t>(to - block_begin)};
      }
    }
  });
  open_ = left_open;
  position_ = end;
}

}  // namespace sortcore
