#include "sortcore/bench/disk_bench.hpp"

#include <algorithm>
#include <memory>

#include "bench/bench_file.hpp"
#include "bench/dealer.hpp"
#include "bench/volume.hpp"
#include "bench/watch.hpp"
#include "sortcore/bench/window.hpp"
#include "sortcore/error.hpp"
#include "sortcore/io/block_pool.hpp"
#include "sortcore/io/queue.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr unsigned fewest_dealers = 4;  // if there are as many processors: one disk may be an array of many
constexpr std::size_t chunks_per_transfer =
    4;  // chunks fill up at random: writers must not wait for the next

using Volumes = std::vector<std::unique_ptr<Volume>>;

using Blocks = Queue<BlockPool::Block>;

class DiskBench {
 public:
  DiskBench(const DiskBenchRequest& request, Progress* progress)
      : request_(request),
        progress_(progress),
        window_(request.warm_up_s, request.seconds, request.interval_s),
        monitor_(progress),
        dealers_(count_dealers(request)),
        partitions_(count_partitions(request)) {
    add_volumes(reads_, request.read_directories, false);
    add_volumes(writes_, request.write_directories, true);
  }

  void prepare();
  void measure();
  std::vector<VolumeReport> report() const;

 private:
  static unsigned count_dealers(const DiskBenchRequest& request) {
    const auto directories =
        static_cast<unsigned>(std::max(request.read_directories.size(), request.write_directories.size()));
    const unsigned processors = std::max(available_threads(), 2U) - 1;  // one is for the transfers
    return std::min(processors, std::max(directories, fewest_dealers));
  }

  // The same number for each directory, so that all get equal shares.
  static unsigned count_partitions(const DiskBenchRequest& request) {
    const auto directories =
        static_cast<unsigned>(std::max<std::size_t>(request.write_directories.size(), 1));
    return (request.partitions + directories - 1) / directories * directories;
  }

  void add_volumes(Volumes& volumes, const std::vector<std::string>& directories, bool are_written);
  void fill(Volume& volume);
  void start_readers(ThreadGroup& group, BlockPool& blocks, Blocks* filled);
  void start_dealers(ThreadGroup& group, BlockPool& blocks, BlockPool& chunks, Blocks& filled);
  void start_writers(ThreadGroup& group, BlockPool& chunks);
  void start_writing_only(ThreadGroup& group, BlockPool& chunks);
  void deal(unsigned seed, BlockPool& blocks, BlockPool& chunks, Blocks& filled);

  const DiskBenchRequest& request_;
  Progress* progress_;
  Window window_;
  Monitor monitor_;
  StageClock clock_;
  unsigned dealers_;
  unsigned partitions_;  // of each dealer
  Volumes reads_;
  Volumes writes_;
  std::vector<std::unique_ptr<Blocks>> full_;  // one per written volume
  ThreadsLeft readers_left_;
  ThreadsLeft dealers_left_;
};

void DiskBench::add_volumes(Volumes& volumes, const std::vector<std::string>& directories, bool are_written) {
  if (directories.empty()) return;
  if (request_.stripe_bytes != 0) {
    volumes.push_back(std::make_unique<Volume>(directories, are_written, request_, window_));
    return;
  }
  for (const std::string& directory : directories) {
    volumes.push_back(
        std::make_unique<Volume>(std::vector<std::string>{directory}, are_written, request_, window_));
  }
}

unsigned count_threads(const Volumes& volumes) {
  unsigned threads = 0;
  for (const auto& volume : volumes) threads += volume->threads();
  return threads;
}

void DiskBench::prepare() {
  std::uint64_t bytes = 0;
  for (const auto& volume : reads_) bytes += volume->bytes();
  if (progress_ != nullptr) progress_->begin_phase(0, bytes);
  ThreadGroup group(monitor_);
  for (const auto& volume : reads_) group.start(volume->threads(), [&] { fill(*volume); });
  group.join();
  for (const auto& volume : reads_) volume->finish_filling();
}

void DiskBench::fill(Volume& volume) {
  Buffer block(volume.block_bytes());
  while (volume.fill_next(block.data())) {
    throw_if_cancelled(progress_);
    add_progress(progress_, volume.block_bytes());
  }
}

// Memory is touched before the clock starts: the first touch costs as much as a transfer. It is filled with
// records, so that even chunks not dealt to yet write records.
void fill_all(BlockPool& pool) {
  for (std::size_t i = 0; i < pool.blocks(); ++i) {
    fill_with_records(pool.data(static_cast<BlockPool::Block>(i)), pool.block_bytes(),
                      i * pool.block_bytes());
  }
}

void DiskBench::measure() {
  const bool deals = !reads_.empty() && !writes_.empty();
  BlockPool blocks(monitor_, request_.read_block_bytes, 2 * std::size_t{count_threads(reads_)});
  BlockPool chunks(
      monitor_, request_.write_block_bytes,
      (deals ? std::size_t{dealers_} * partitions_ : 0) + chunks_per_transfer * count_threads(writes_));
  Blocks filled(monitor_);
  for (std::size_t i = 0; i < writes_.size(); ++i) full_.push_back(std::make_unique<Blocks>(monitor_));
  fill_all(blocks);
  fill_all(chunks);
  ThreadGroup group(monitor_);
  window_.start();
  start_readers(group, blocks, deals ? &filled : nullptr);
  if (deals) {
    start_dealers(group, blocks, chunks, filled);
    start_writers(group, chunks);
  } else {
    start_writing_only(group, chunks);
  }
  group.start(1, [&] { watch(window_, monitor_, progress_, 1); });
  group.join();
}

void DiskBench::start_readers(ThreadGroup& group, BlockPool& blocks, Blocks* filled) {
  readers_left_.set(count_threads(reads_));
  for (const auto& volume : reads_) {
    group.start(volume->threads(), [&, filled, from = volume.get()] {
      while (!window_.is_over()) {
        const BlockPool::Block block = blocks.acquire(clock_);
        from->read_next(blocks.data(block));
        filled != nullptr ? filled->push(block) : blocks.release(block);
      }
      if (readers_left_.leave() && filled != nullptr) filled->close();
    });
  }
}

void DiskBench::start_dealers(ThreadGroup& group, BlockPool& blocks, BlockPool& chunks, Blocks& filled) {
  dealers_left_.set(dealers_);
  for (unsigned i = 0; i < dealers_; ++i) {
    group.start(1, [&, i] {
      deal(i, blocks, chunks, filled);
      if (!dealers_left_.leave()) return;
      for (const auto& queue : full_) queue->close();
    });
  }
}

void DiskBench::deal(unsigned seed, BlockPool& blocks, BlockPool& chunks, Blocks& filled) {
  const auto take = [&] { return chunks.data(chunks.acquire(clock_)); };
  const auto exchange = [&](std::size_t partition, std::byte* full) {
    const auto block = static_cast<std::size_t>(full - chunks.data(0)) / chunks.block_bytes();
    full_[partition % full_.size()]->push(static_cast<BlockPool::Block>(block));
    return take();
  };
  Dealer dealer(partitions_, chunks.block_bytes(), seed + 1, take);
  while (const auto block = filled.pop(clock_)) {
    if (!window_.is_over()) dealer.deal(blocks.data(*block), blocks.block_bytes(), exchange);
    blocks.release(*block);
  }
}

void DiskBench::start_writers(ThreadGroup& group, BlockPool& chunks) {
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    group.start(writes_[i]->threads(), [&, to = writes_[i].get(), queue = full_[i].get()] {
      while (const auto chunk = queue->pop(clock_)) {
        if (!window_.is_over()) to->write_next(chunks.data(*chunk));
        chunks.release(*chunk);
      }
    });
  }
}

void DiskBench::start_writing_only(ThreadGroup& group, BlockPool& chunks) {
  for (const auto& volume : writes_) {
    group.start(volume->threads(), [&, to = volume.get()] {
      const BlockPool::Block chunk = chunks.acquire(clock_);
      while (!window_.is_over()) {
        monitor_.check();
        to->write_next(chunks.data(chunk));
      }
    });
  }
}

std::vector<VolumeReport> DiskBench::report() const {
  std::vector<VolumeReport> reports;
  for (const Volumes* volumes : {&reads_, &writes_}) {
    for (const auto& volume : *volumes) volume->add_reports(reports);
  }
  return reports;
}

void check(const DiskBenchRequest& request) {
  const auto is_whole = [](std::size_t bytes) {
    return bytes > 0 && bytes % Dealer::record_bytes == 0 && bytes % page_bytes == 0;
  };
  if (!is_whole(request.read_block_bytes) || !is_whole(request.write_block_bytes)) {
    throw Error(ErrorCode::bad_input,
                "blocks must be whole records and whole pages: multiples of 102400 bytes");
  }
  if (!(request.seconds > 0) || !(request.interval_s > 0) || !(request.warm_up_s >= 0)) {
    throw Error(ErrorCode::bad_input, "the time to measure must be longer than 0 seconds");
  }
  if (request.queue_depth == 0 || request.partitions == 0) {
    throw Error(ErrorCode::bad_input, "queue depth and partitions must be at least 1");
  }
  if (request.stripe_bytes % page_bytes != 0) {
    throw Error(ErrorCode::bad_input, "stripes must be whole pages: multiples of 4096 bytes");
  }
  if (request.read_directories.empty() && request.write_directories.empty()) {
    throw Error(ErrorCode::bad_input, "name at least one directory to read or write");
  }
}

}  // namespace

std::vector<VolumeReport> bench_disk(const DiskBenchRequest& request, Progress* progress) {
  check(request);
  DiskBench bench(request, progress);
  bench.prepare();
  bench.measure();
  return bench.report();
}

}  // namespace sortcore
