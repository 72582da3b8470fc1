#include "sortcore/bench/small_io.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <mutex>
#include <random>

#include "bench/bench_file.hpp"
#include "bench/watch.hpp"
#include "sortcore/bench/window.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/error.hpp"
#include "sortcore/io/monitor.hpp"
#include "sortcore/io/scratch_files.hpp"

namespace sortcore {
namespace {

constexpr std::size_t filling_block_bytes = 4'096'000;
constexpr std::size_t source_bytes = 8'192'000;  // written data comes from random places in here

void flush(File& file) {
#ifdef __linux__
  while (::fdatasync(file.descriptor()) != 0) {
    if (errno != EINTR) throw Error::from_errno("flush", file.path(), errno);
  }
#else
  file.sync();
#endif
}

// The loop of one thread.
class Loop {
 public:
  Loop(File& file, std::uint64_t file_bytes, const SmallIoOperation& operation, std::uint64_t seed)
      : file_(file),
        operation_(operation),
        random_(seed),
        places_(0, file_bytes / operation.io_bytes - 1),
        memory_(operation.writes ? source_bytes + operation.io_bytes : operation.io_bytes),
        sources_(0, operation.writes ? source_bytes / page_bytes : 0) {
    if (operation.writes) fill_with_records(memory_.data(), memory_.size(), seed * memory_.size());
  }

  void once() {
    const std::uint64_t offset = places_(random_) * operation_.io_bytes;
    std::byte* place = memory_.data() + sources_(random_) * page_bytes;
    if (!operation_.writes) return file_.read_exactly(place, operation_.io_bytes, offset);
    file_.write_exactly(place, operation_.io_bytes, offset);
    if (chance_(random_) < operation_.flush_probability) flush(file_);
  }

 private:
  File& file_;
  const SmallIoOperation& operation_;
  std::mt19937_64 random_;
  std::uniform_int_distribution<std::uint64_t> places_;
  Buffer memory_;
  std::uniform_int_distribution<std::size_t> sources_;
  std::uniform_real_distribution<double> chance_{0, 1};
};

void check(const SmallIoOperation& operation, std::uint64_t file_bytes) {
  if (operation.io_bytes == 0 || operation.io_bytes % page_bytes != 0 || operation.io_bytes > file_bytes) {
    throw Error(ErrorCode::bad_input, "an operation must move whole pages, and no more than the file holds");
  }
  if (operation.threads == 0 || !(operation.seconds > 0) || !(operation.interval_s > 0)) {
    throw Error(ErrorCode::bad_input, "at least one thread and more than 0 seconds are needed");
  }
}

}  // namespace

SmallIoFile::SmallIoFile(const std::string& directory, std::uint64_t bytes, Progress* progress)
    : bytes_(std::max<std::uint64_t>(bytes / filling_block_bytes, 2) * filling_block_bytes),
      file_(create_unlinked(directory, File::Caching::direct)),
      can_be_direct_(file_.is_direct()) {
  if (progress != nullptr) progress->begin_phase(0, bytes_);
  file_.preallocate(0, bytes_);
  Buffer block(filling_block_bytes);
  for (std::uint64_t offset = 0; offset < bytes_; offset += filling_block_bytes) {
    throw_if_cancelled(progress);
    fill_with_records(block.data(), filling_block_bytes, offset);
    file_.write_exactly(block.data(), filling_block_bytes, offset);
    add_progress(progress, filling_block_bytes);
  }
  file_.sync();
}

void SmallIoFile::set_direct([[maybe_unused]] bool direct) {
#ifdef O_DIRECT
  if (!can_be_direct_) return;
  const int flags = ::fcntl(file_.descriptor(), F_GETFL);
  const int wanted = direct ? flags | O_DIRECT : flags & ~O_DIRECT;
  if (flags < 0 || ::fcntl(file_.descriptor(), F_SETFL, wanted) != 0) {
    throw Error::from_errno("change the caching of", file_.path(), errno);
  }
#endif
}

SmallIoReport SmallIoFile::run(const SmallIoOperation& operation, Progress* progress) {
  check(operation, bytes_);
  const bool direct = !operation.writes || operation.flush_probability >= 1;
  file_.sync();
  set_direct(direct);
  forget_cached(file_);
  std::vector<std::unique_ptr<Loop>> loops;  // made before the clock starts: they fill memory with records
  for (unsigned i = 0; i < operation.threads; ++i) {
    loops.push_back(std::make_unique<Loop>(file_, bytes_, operation, i + 1));
  }
  const Window window(0, operation.seconds, operation.interval_s);
  Meter meter(window);
  Monitor monitor(progress);
  SmallIoReport report;
  std::mutex merging;
  std::atomic<unsigned> next{0};
  ThreadGroup group(monitor);
  group.start(operation.threads, [&] {
    Loop& loop = *loops[next.fetch_add(1)];
    LatencyHistogram latency;
    while (!window.is_over()) {
      monitor.check();
      const auto start = Clock::now();
      loop.once();
      if (window.is_over()) break;
      latency.add(nanoseconds_since(start));
      meter.add(operation.io_bytes);
    }
    const std::lock_guard lock(merging);
    report.latency.merge(latency);
  });
  group.start(1, [&] { watch(window, monitor, progress, 1); });
  group.join();
  report.is_direct = direct && can_be_direct_;
  report.bytes = meter.bytes();
  report.bytes_by_interval = meter.bytes_by_interval();
  return report;
}

}  // namespace sortcore
