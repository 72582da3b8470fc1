#include "floor_copy.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "sortcore/io/block_pool.hpp"
#include "sortcore/io/output_file.hpp"
#include "sortcore/io/queue.hpp"
#include "sortcore/io/scratch_files.hpp"

namespace sortcore {
namespace {

struct Piece {
  BlockPool::Block block;
  std::uint64_t offset;
};

// `read` and `write` move the block that begins at an offset; as many of each as the queue is deep run at
// once.
using Move = std::function<void(std::byte* block, std::uint64_t offset)>;
void copy_blocks(std::uint64_t bytes, const ExternalPlan& plan, BlockPool& blocks, Monitor& monitor,
                 const Move& read, const Move& write) {
  StageClock clock;
  Queue<Piece> queue(monitor);
  std::atomic<std::uint64_t> next{0};
  ThreadsLeft readers(plan.queue_depth);
  ThreadGroup group(monitor);
  group.start(plan.queue_depth, [&] {
    for (std::uint64_t offset = next.fetch_add(plan.block_bytes); offset < bytes;
         offset = next.fetch_add(plan.block_bytes)) {
      const BlockPool::Block block = blocks.acquire(clock);
      read(blocks.data(block), offset);
      queue.push({block, offset});
    }
    if (readers.leave()) queue.close();
  });
  group.start(plan.queue_depth, [&] {
    while (const auto piece = queue.pop(clock)) {
      write(blocks.data(piece->block), piece->offset);
      blocks.release(piece->block);
    }
  });
  group.join();
}

}  // namespace

FloorReport write_floor(const std::string& output, std::uint64_t bytes, const OnePassPlan& plan) {
  const auto start = Clock::now();
  OutputFile file(output, File::Caching::direct);
  file.set_size(bytes);
  Monitor monitor(nullptr);
  std::atomic<std::uint64_t> next{0};
  ThreadGroup group(monitor);
  group.start(plan.threads + plan.queue_depth, [&] {
    Buffer block(plan.block_bytes);
    std::memset(block.data(), 1, block.size());
    for (std::uint64_t offset = next.fetch_add(plan.block_bytes); offset < bytes;
         offset = next.fetch_add(plan.block_bytes)) {
      const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(plan.block_bytes, bytes - offset));
      file.file().write_exactly(block.data(), part, offset);
    }
  });
  group.join();
  file.commit();
  return {seconds_since(start), 0, bytes};
}

FloorReport copy_floor(const std::string& input, const std::string& output,
                       const std::string& temporary_directory, const ExternalPlan& plan) {
  const auto start = Clock::now();
  File from = File::open_to_read(input, File::Caching::direct);
  const std::uint64_t bytes = from.size();
  OutputFile to(output, File::Caching::direct);
  to.set_size(bytes);
  Monitor monitor(nullptr);
  BlockPool blocks(monitor, plan.block_bytes, plan.blocks);
  ScratchFiles scratch({temporary_directory}, File::Caching::direct);
  const auto length = [&](std::uint64_t offset, std::size_t most) {
    return static_cast<std::size_t>(std::min<std::uint64_t>(most, bytes - offset));
  };
  // Every chunk has its own place, so that writers may work in any order.
  const std::size_t per_block = (plan.block_bytes + plan.chunk_bytes - 1) / plan.chunk_bytes;
  std::vector<Extent> extents((bytes / plan.block_bytes + 1) * per_block);
  const auto each_chunk = [&](std::uint64_t offset, const auto& move) {
    const std::uint64_t end = offset + length(offset, plan.block_bytes);
    for (std::uint64_t at = offset; at < end; at += plan.chunk_bytes) {
      move(at - offset, static_cast<std::size_t>(std::min<std::uint64_t>(plan.chunk_bytes, end - at)),
           extents[offset / plan.block_bytes * per_block + (at - offset) / plan.chunk_bytes]);
    }
  };
  const Move read_input = [&](std::byte* block, std::uint64_t offset) {
    from.read_exactly(block, length(offset, plan.block_bytes), offset);
  };
  const Move write_chunks = [&](std::byte* block, std::uint64_t offset) {
    each_chunk(offset, [&](std::uint64_t at, std::size_t part, Extent& extent) {
      extent = scratch.write(block + at, part, offset * ScratchFiles::groups / bytes);
    });
  };
  const Move read_chunks = [&](std::byte* block, std::uint64_t offset) {
    each_chunk(offset, [&](std::uint64_t at, std::size_t part, const Extent& extent) {
      scratch.read(block + at, part, extent);
      scratch.discard(extent);
    });
  };
  const Move write_output = [&](std::byte* block, std::uint64_t offset) {
    to.file().write_exactly(block, length(offset, plan.block_bytes), offset);
  };
  copy_blocks(bytes, plan, blocks, monitor, read_input, write_chunks);
  copy_blocks(bytes, plan, blocks, monitor, read_chunks, write_output);
  to.commit();
  return {seconds_since(start), 2 * bytes, 2 * bytes};
}

}  // namespace sortcore
