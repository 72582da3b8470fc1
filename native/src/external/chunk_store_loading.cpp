// The second pass of the store: chunks come back, and are handed over or drained.
#include <algorithm>
#include <cstring>
#include <utility>

#include "sortcore/external/chunk_store.hpp"

namespace sortcore {

void ChunkStore::begin_loading(std::vector<Partition> order) {
  const auto lock = monitor_.lock();
  loading_ = std::move(order);
  std::reverse(loading_.begin(), loading_.end());
}

bool ChunkStore::is_complete(const Content& content) const noexcept {
  return content.on_disk.empty() && content.transfers_running == 0;
}

// The awaited partition cannot be completed although nothing is being processed: later ones must yield.
bool ChunkStore::must_make_room() const noexcept {
  return !has_free_chunk() && spilling_ == 0 && awaited_ && !contents_[*awaited_].on_disk.empty() &&
         last_in_memory() && *last_in_memory() != *awaited_;
}

// The first partition in the order with something to load. One without anything on the disk stays in the
// order while a chunk of it is being written, and does not delay those after it.
std::optional<ChunkStore::Partition> ChunkStore::next_on_disk() noexcept {
  while (!loading_.empty() && is_complete(contents_[loading_.back()])) loading_.pop_back();
  const auto next = std::find_if(loading_.rbegin(), loading_.rend(),
                                 [&](Partition partition) { return !contents_[partition].on_disk.empty(); });
  return next == loading_.rend() ? std::nullopt : std::optional(*next);
}

// Also true when there is nothing left to load, which ends the loading threads.
bool ChunkStore::can_load() noexcept {
  const auto next = next_on_disk();
  return loading_.empty() || (next && has_free_chunk()) || must_make_room();
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
    if (!next || !has_free_chunk()) {
      spill_one(lock, clock);
      continue;
    }
    Content& content = contents_[*next];
    const Load load{*next, content.on_disk.front(), take_free()};
    content.on_disk.pop_front();
    ++content.transfers_running;
    if (can_load()) loading_due_.notify_one();
    return load;
  }
}

void ChunkStore::load(const Load& load, StageClock& clock) {
  const StoredChunk& stored = load.from.stored;
  scratch_.read(data(load.into), stored);
  scratch_.discard(stored);
  clock.bytes += stored.bytes;
  const auto lock = monitor_.lock();
  Content& content = contents_[load.partition];
  --content.transfers_running;
  content.in_memory.push_back({load.into, stored.bytes, load.from.sequence});
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

// Brings the chunk with the least number to the place from which `drain` takes one, and returns whether it is
// in memory.
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
  // By number, not by reference: the list of partitions does not grow during a pass, but this code must not
  // rely on that. A chunk that is being written might be the next.
  written_.wait(lock, clock, [&] {
    const Content& content = contents_[partition];
    return content.transfers_running == 0 ||
           (!in_order && !(content.in_memory.empty() && content.on_disk.empty()));
  });
  Content& content = contents_[partition];
  const bool from_memory = in_order ? next_is_in_memory(content) : !content.in_memory.empty();
  if (from_memory) return drain_from_memory(content, lock, into);
  if (content.on_disk.empty()) return std::nullopt;
  return drain_from_disk(content, lock, into, clock);
}

// Both are called with the lock held, and release it before they copy.
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
  const StoredChunk& stored = written.stored;
  content.bytes -= stored.bytes;
  lock.unlock();
  scratch_.read(into, stored);
  scratch_.discard(stored);
  clock.bytes += stored.bytes;
  return {stored.bytes, written.sequence};
}

}  // namespace sortcore
