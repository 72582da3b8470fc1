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
      scratch_(scratch),
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
  freed_.wait(lock, clock, [&] { return has_room(); });
  const Chunk chunk = take_free();
  if (to_come_ > 0) --to_come_;
  if (touching_is_due()) touching_due_.notify_one();
  if (can_spill()) spilling_due_.notify_one();
  return chunk;
}

// Called with the lock held.
void ChunkStore::give_back(Chunk chunk) {
  free_.push_back(chunk);
  monitor_.count_hand_over();
  freed_.notify_one();
  if (can_load()) loading_due_.notify_one();
}

// A chunk that has been used before if there is one.
ChunkStore::Chunk ChunkStore::take_free() noexcept {
  if (free_.empty()) return untouched_++;
  const Chunk chunk = free_.back();
  free_.pop_back();
  return chunk;
}

// Later than it stops, so that the thread is not woken for each chunk.
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
    give_back(chunk);
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
  give_back(chunk);
}

bool ChunkStore::holds_the_rest_locked() const noexcept {
  return free_.size() + (chunks_ - untouched_) + spilling_ >= std::max(to_come_, least_room_);
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

void ChunkStore::start_spilling(std::uint64_t chunks_to_come) {
  const auto lock = monitor_.lock();
  to_come_ = chunks_to_come;
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

// Partitions that are read back one after another share a scratch file, which can go when the last of them is
// in.
std::size_t ChunkStore::group_of(Partition partition) const noexcept {
  return std::min<std::size_t>(partition * ScratchFiles::groups / planned_partitions_,
                               ScratchFiles::groups - 1);
}

// Called and left with the lock held, which is given up during the write.
void ChunkStore::spill_one(std::unique_lock<std::mutex>& lock, StageClock& clock) {
  const Partition partition = *last_in_memory();
  const FilledChunk victim = contents_[partition].in_memory.back();
  contents_[partition].in_memory.pop_back();
  ++contents_[partition].under_way;
  ++spilling_;
  if (can_spill()) spilling_due_.notify_one();
  lock.unlock();
  const Extent extent = scratch_.write(data(victim.chunk), victim.bytes, group_of(partition));
  clock.bytes += victim.bytes;
  lock.lock();
  --spilling_;
  --contents_[partition].under_way;
  contents_[partition].on_disk.push_back({extent, victim.bytes, victim.sequence});
  spilled_bytes_ += victim.bytes;
  give_back(victim.chunk);
  written_.notify_all();
}

void ChunkStore::begin_loading(std::vector<Partition> order) {
  const auto lock = monitor_.lock();
  loading_ = std::move(order);
  std::reverse(loading_.begin(), loading_.end());
}

bool ChunkStore::is_complete(const Content& content) const noexcept {
  return content.on_disk.empty() && content.under_way == 0;
}

// The partition somebody waits for cannot be completed although nothing is being processed: later ones must
// yield.
bool ChunkStore::must_make_room() const noexcept {
  return !has_room() && spilling_ == 0 && awaited_ && !contents_[*awaited_].on_disk.empty() &&
         last_in_memory() && *last_in_memory() != *awaited_;
}

// The first partition in the order that has something to load. One that has nothing on the disk stays in the
// order while a chunk of it is being written, and does not hold up those after it.
std::optional<ChunkStore::Partition> ChunkStore::next_on_disk() noexcept {
  while (!loading_.empty() && is_complete(contents_[loading_.back()])) loading_.pop_back();
  const auto next = std::find_if(loading_.rbegin(), loading_.rend(),
                                 [&](Partition partition) { return !contents_[partition].on_disk.empty(); });
  return next == loading_.rend() ? std::nullopt : std::optional(*next);
}

// Also true when there is nothing left to load, which ends the threads that do.
bool ChunkStore::can_load() noexcept {
  const auto next = next_on_disk();
  return loading_.empty() || (next && has_room()) || must_make_room();
}

std::optional<ChunkStore::Load> ChunkStore::next_load(StageClock& clock) {
  auto lock = monitor_.lock();
  while (true) {
    loading_due_.wait(lock, clock, [&] { return can_load(); });
    if (loading_.empty()) {
      loading_due_.notify_all();
      return std::nullopt;
    }
    const auto next = next_on_disk();
    if (!next || !has_room()) {
      spill_one(lock, clock);
      continue;
    }
    Content& content = contents_[*next];
    const Load load{*next, content.on_disk.front(), take_free()};
    content.on_disk.pop_front();
    ++content.under_way;
    if (can_load()) loading_due_.notify_one();
    return load;
  }
}

void ChunkStore::load(const Load& load, StageClock& clock) {
  scratch_.read(data(load.into), load.from.bytes, load.from.extent);
  scratch_.discard(load.from.extent);
  clock.bytes += load.from.bytes;
  const auto lock = monitor_.lock();
  Content& content = contents_[load.partition];
  --content.under_way;
  content.in_memory.push_back({load.into, load.from.bytes, load.from.sequence});
  loaded_bytes_ += load.from.bytes;
  monitor_.count_hand_over();
  if (load.partition == awaited_ && (any_will_do_ || is_complete(content))) loaded_.notify_one();
  written_.notify_all();
}

void ChunkStore::load_all(StageClock& clock) {
  const LifeTimer timer(clock);
  while (const auto next = next_load(clock)) load(*next, clock);
}

// Called with the lock held.
void ChunkStore::begin_waiting_for(Partition partition, bool any_will_do) {
  awaited_ = partition;
  any_will_do_ = any_will_do;
  if (can_load()) loading_due_.notify_one();
}

std::vector<ChunkStore::FilledChunk> ChunkStore::take(Partition partition, StageClock& clock) {
  auto lock = monitor_.lock();
  begin_waiting_for(partition, false);
  loaded_.wait(lock, clock, [&] { return is_complete(contents_[partition]); });
  awaited_.reset();
  return std::exchange(contents_[partition].in_memory, {});
}

std::optional<ChunkStore::FilledChunk> ChunkStore::take_any(Partition partition, StageClock& clock) {
  auto lock = monitor_.lock();
  Content& content = contents_[partition];
  begin_waiting_for(partition, true);
  loaded_.wait(lock, clock, [&] { return !content.in_memory.empty() || is_complete(content); });
  awaited_.reset();
  if (content.in_memory.empty()) return std::nullopt;
  const FilledChunk filled = content.in_memory.back();
  content.in_memory.pop_back();
  return filled;
}

// Brings the chunk with the least number to where `drain` takes one from, and tells whether that is in
// memory.
bool ChunkStore::next_is_in_memory(Content& content) noexcept {
  const auto filled = std::ranges::min_element(content.in_memory, {}, &FilledChunk::sequence);
  const auto written = std::ranges::min_element(content.on_disk, {}, &WrittenChunk::sequence);
  if (filled == content.in_memory.end() && written == content.on_disk.end()) return false;
  if (written == content.on_disk.end() ||
      (filled != content.in_memory.end() && filled->sequence < written->sequence)) {
    std::iter_swap(filled, content.in_memory.end() - 1);
    return true;
  }
  std::iter_swap(written, content.on_disk.begin());
  return false;
}

std::optional<ChunkStore::Drained> ChunkStore::drain(Partition partition, std::byte* into, StageClock& clock,
                                                     bool in_order) {
  auto lock = monitor_.lock();
  // By number, not by reference: the list of partitions does not grow during a pass, but that is not for us
  // to know. A chunk that is being written might be the next.
  written_.wait(lock, clock, [&] {
    const Content& content = contents_[partition];
    return content.under_way == 0 || (!in_order && !(content.in_memory.empty() && content.on_disk.empty()));
  });
  Content& content = contents_[partition];
  const bool from_memory = in_order ? next_is_in_memory(content) : !content.in_memory.empty();
  if (from_memory) return drain_from_memory(content, lock, into);
  if (content.on_disk.empty()) return std::nullopt;
  return drain_from_disk(content, lock, into, clock);
}

// Both are called with the lock held, and give it up before they copy.
ChunkStore::Drained ChunkStore::drain_from_memory(Content& content, std::unique_lock<std::mutex>& lock,
                                                  std::byte* into) {
  const FilledChunk filled = content.in_memory.back();
  content.in_memory.pop_back();
  content.bytes -= filled.bytes;
  lock.unlock();
  std::memcpy(into, data(filled.chunk), filled.bytes);
  release(filled.chunk);
  return {filled.bytes, filled.sequence};
}

ChunkStore::Drained ChunkStore::drain_from_disk(Content& content, std::unique_lock<std::mutex>& lock,
                                                std::byte* into, StageClock& clock) {
  const WrittenChunk written = content.on_disk.front();
  content.on_disk.pop_front();
  content.bytes -= written.bytes;
  loaded_bytes_ += written.bytes;
  lock.unlock();
  scratch_.read(into, written.bytes, written.extent);
  scratch_.discard(written.extent);
  clock.bytes += written.bytes;
  return {written.bytes, written.sequence};
}

std::uint64_t ChunkStore::sample_chunks(Partition partition, std::size_t most_bytes, const Visit& visit) {
  const Content& content = contents_[partition];
  Buffer window(chunk_bytes_);
  std::uint64_t bytes_read = 0;
  for (const FilledChunk& filled : content.in_memory)
    visit({data(filled.chunk), std::min<std::size_t>(filled.bytes, most_bytes)});
  for (const WrittenChunk& written : content.on_disk) {
    const std::size_t bytes = std::min<std::size_t>(written.bytes, most_bytes);
    scratch_.read(window.data(), bytes, written.extent);
    bytes_read += bytes;
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
