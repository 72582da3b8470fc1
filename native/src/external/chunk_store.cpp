#include "sortcore/external/chunk_store.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sortcore {

ChunkStore::ChunkStore(Monitor& monitor, ScratchFiles& scratch, const ExternalPlan& plan)
    : monitor_(monitor),
      freed_(monitor),
      touching_due_(monitor),
      spilling_due_(monitor),
      loading_due_(monitor),
      loaded_(monitor),
      written_(monitor),
      scratch_(scratch, plan.chunk_bytes, plan.pack_buffers > 0 ? Lz4::of_the_system() : nullptr),
      packs_(plan.packing == Packing::always),
      chunk_bytes_(plan.chunk_bytes),
      low_water_(plan.low_water_chunks),
      least_room_(plan.threads),
      planned_partitions_(plan.partitions),
      memory_(plan.chunk_bytes * plan.chunks),
      chunks_(static_cast<Chunk>(plan.chunks)) {}

ChunkStore::Partition ChunkStore::add_partition(std::optional<Partition> before) {
  const auto lock = monitor_.lock();
  const auto partition = static_cast<Partition>(contents_.size());
  contents_.emplace_back();
  const auto place = before ? std::find(sequence_.begin(), sequence_.end(), *before) : sequence_.end();
  sequence_.insert(place, partition);
  return partition;
}

std::uint64_t ChunkStore::bytes_of(Partition partition) {
  const auto lock = monitor_.lock();
  return contents_[partition].bytes;
}

ChunkStore::Chunk ChunkStore::acquire(StageClock& clock) {
  auto lock = monitor_.lock();
  freed_.wait(lock, clock, [&] { return has_free_chunk(); });
  const Chunk chunk = take_free();
  if (expected_chunks_ > 0) --expected_chunks_;
  if (touching_is_due()) touching_due_.notify_one();
  if (can_spill()) spilling_due_.notify_one();
  return chunk;
}

// Called with the lock held.
void ChunkStore::free_chunk(Chunk chunk) {
  free_.push_back(chunk);
  monitor_.count_hand_over();
  freed_.notify_one();
  if (can_load()) loading_due_.notify_one();
}

// Prefers a chunk that has been used before.
ChunkStore::Chunk ChunkStore::take_free() noexcept {
  if (free_.empty()) return untouched_++;
  const Chunk chunk = free_.back();
  free_.pop_back();
  return chunk;
}

// Starts later than it stops, so that the thread is not woken for each chunk.
bool ChunkStore::touching_is_due() const noexcept { return free_.size() < 3 * low_water_ / 2; }

void ChunkStore::touch_ahead() {
  StageClock idle;
  auto lock = monitor_.lock();
  while (untouched_ < chunks_) {
    if (free_.size() >= 2 * low_water_)
      touching_due_.wait(lock, idle, [&] { return spill_stopped_ || touching_is_due(); });
    monitor_.check_locked();
    if (spill_stopped_ || untouched_ == chunks_) return;
    const Chunk chunk = untouched_++;
    lock.unlock();
    for (std::size_t page = 0; page < chunk_bytes_; page += page_bytes) data(chunk)[page] = std::byte{0};
    lock.lock();
    free_chunk(chunk);
  }
}

void ChunkStore::add(Partition partition, FilledChunk filled) {
  const auto lock = monitor_.lock();
  contents_[partition].in_memory.push_back(filled);
  contents_[partition].bytes += filled.bytes;
  monitor_.count_hand_over();
  if (can_spill()) spilling_due_.notify_one();
}

void ChunkStore::release(Chunk chunk) {
  const auto lock = monitor_.lock();
  free_chunk(chunk);
}

bool ChunkStore::holds_the_rest_locked() const noexcept {
  return free_.size() + (chunks_ - untouched_) + spilling_ >= std::max(expected_chunks_, least_room_);
}

bool ChunkStore::holds_the_rest() {
  const auto lock = monitor_.lock();
  return holds_the_rest_locked();
}

bool ChunkStore::can_spill() const noexcept {
  return free_.size() + spilling_ < low_water_ && !holds_the_rest_locked() && last_in_memory();
}

std::optional<ChunkStore::Partition> ChunkStore::last_in_memory() const noexcept {
  const auto last = std::find_if(sequence_.rbegin(), sequence_.rend(), [&](Partition partition) {
    return !contents_[partition].in_memory.empty();
  });
  return last == sequence_.rend() ? std::nullopt : std::optional(*last);
}

void ChunkStore::start_spilling(std::uint64_t expected_chunks) {
  const auto lock = monitor_.lock();
  expected_chunks_ = expected_chunks;
  spill_stopped_ = false;
}

void ChunkStore::stop_spilling() {
  const auto lock = monitor_.lock();
  spill_stopped_ = true;
  touching_due_.notify_all();
  spilling_due_.notify_all();
}

void ChunkStore::spill_while_needed(StageClock& clock) {
  const LifeTimer timer(clock);
  auto lock = monitor_.lock();
  while (true) {
    spilling_due_.wait(lock, clock, [&] { return spill_stopped_ || can_spill(); });
    if (spill_stopped_) return;
    spill_one(lock, clock);
  }
}

// Partitions that are read back one after another share a scratch file, which is freed when the last of them
// is in memory.
std::size_t ChunkStore::group_of(Partition partition) const noexcept {
  return std::min<std::size_t>(partition * ScratchFiles::groups / planned_partitions_,
                               ScratchFiles::groups - 1);
}

// Called and left with the lock held, which is released during the write.
void ChunkStore::spill_one(std::unique_lock<std::mutex>& lock, StageClock& clock) {
  const Partition partition = *last_in_memory();
  const FilledChunk victim = contents_[partition].in_memory.back();
  contents_[partition].in_memory.pop_back();
  ++contents_[partition].transfers_running;
  ++spilling_;
  if (can_spill()) spilling_due_.notify_one();
  lock.unlock();
  const StoredChunk stored = scratch_.write({data(victim.chunk), victim.bytes}, group_of(partition), packs_);
  clock.bytes += victim.bytes;
  lock.lock();
  --spilling_;
  --contents_[partition].transfers_running;
  contents_[partition].on_disk.push_back({stored, victim.sequence});
  spilled_bytes_ += victim.bytes;
  free_chunk(victim.chunk);
  written_.notify_all();
}

std::uint64_t ChunkStore::sample_chunks(Partition partition, std::size_t most_bytes, const Visit& visit) {
  const Content& content = contents_[partition];
  Buffer window(chunk_bytes_);
  std::uint64_t bytes_read = 0;
  for (const FilledChunk& filled : content.in_memory)
    visit({data(filled.chunk), std::min<std::size_t>(filled.bytes, most_bytes)});
  for (const WrittenChunk& written : content.on_disk) {
    const std::size_t bytes = std::min<std::size_t>(written.stored.bytes, most_bytes);
    bytes_read += scratch_.read_beginning(window.data(), bytes, written.stored);
    visit(window.first(bytes));
  }
  return bytes_read;
}

std::size_t ChunkStore::chunks_of(Partition partition) {
  const auto lock = monitor_.lock();
  return contents_[partition].in_memory.size() + contents_[partition].on_disk.size();
}

std::size_t ChunkStore::written_chunks_of(Partition partition) {
  const auto lock = monitor_.lock();
  return contents_[partition].on_disk.size();
}

}  // namespace sortcore
