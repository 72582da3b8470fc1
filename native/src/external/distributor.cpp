#include "sortcore/external/distributor.hpp"

#include <algorithm>
#include <cstring>

namespace sortcore {
namespace {

// This many records are classified, then copied, while they are in the second-level cache.
constexpr std::size_t batch_records = 2048;
constexpr std::size_t default_record_bytes = 100;

}  // namespace

Distributor::Distributor(ChunkStore& store, const Partitioner& partitioner,
                         std::span<const ChunkStore::Partition> partitions, std::size_t grain_bytes)
    : store_(store),
      partitioner_(partitioner),
      capacity_(store.chunk_bytes() / grain_bytes * grain_bytes),
      spreads_(!store.holds_the_rest()),
      partitions_(partitions.begin(), partitions.end()),
      grain_bytes_(grain_bytes),
      open_(partitions.size()),
      begun_(partitions.size()),
      ids_(batch_records),
      counts_(partitions.size()) {}

void Distributor::finish() {
  for (std::size_t index = 0; index < open_.size(); ++index) hand_over(index);
}

void Distributor::hand_over(std::size_t index) {
  Open& open = open_[index];
  if (!open.has_chunk) return;
  const auto bytes = static_cast<std::uint32_t>(open.next - store_.data(open.chunk));
  store_.add(partitions_[index], {open.chunk, bytes, begun_[index] - 1});
  open = {};
}

void Distributor::renew(std::size_t index, StageClock& clock) {
  hand_over(index);
  Open& open = open_[index];
  open.chunk = store_.acquire(clock);
  open.has_chunk = true;
  open.next = store_.data(open.chunk);
  const std::size_t capacity = begun_[index] == 0 ? first_capacity(index) : capacity_;
  open.end = open.next + (capacity < partitioner_.format().record_bytes ? capacity_ : capacity);
  ++begun_[index];
}

// Evenly spread keys would fill all chunks at the same moment, and the disk would get them in bursts. So the
// first chunks are handed over at different levels, and the later ones keep the distance. That takes memory,
// so it is done only if the disk gets any.
std::size_t Distributor::first_capacity(std::size_t index) const noexcept {
  if (!spreads_) return capacity_;
  const std::size_t grains = capacity_ / grain_bytes_;
  return (index * grains / open_.size() + 1) * grain_bytes_;
}

void Distributor::add(const SourceBlock& block, StageClock& clock) {
  const std::span<const std::byte> records = block.content;
  const std::size_t batch_bytes = batch_records * partitioner_.format().record_bytes;
  for (std::size_t begin = 0; begin < records.size(); begin += batch_bytes) {
    const auto batch = records.subspan(begin, std::min(batch_bytes, records.size() - begin));
    const std::size_t count = batch.size() / partitioner_.format().record_bytes;
    partitioner_.classify(batch, std::span(ids_).first(count), counts_);
    copy_records(batch, clock);
    clock.bytes += batch.size();
  }
}

void Distributor::copy_records(std::span<const std::byte> records, StageClock& clock) {
  const std::size_t record_bytes = partitioner_.format().record_bytes;
  const std::byte* from = records.data();
  for (std::size_t i = 0; from != records.data() + records.size(); ++i, from += record_bytes) {
    Open& to = open_[ids_[i]];
    if (to.next == to.end) renew(ids_[i], clock);
    // The compiler turns a copy of known size into a few wide moves.
    if (record_bytes == default_record_bytes) {
      std::memcpy(to.next, from, default_record_bytes);
    } else {
      std::memcpy(to.next, from, record_bytes);
    }
    to.next += record_bytes;
  }
}

}  // namespace sortcore
