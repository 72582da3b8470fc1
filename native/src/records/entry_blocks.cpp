#include "records/entry_blocks.hpp"

namespace sortcore {

void EntryBlocks::reset(std::size_t buckets, std::span<const Range> parts) {
  const auto blocks_of = [buckets](Range part) { return blocks_needed(part.end - part.begin, buckets, 1); };
  std::uint64_t blocks = 0;
  for (const Range part : parts) blocks += blocks_of(part);
  memory_.reserve_discarding(blocks * block_alignment);
  if (next_.size() < blocks) next_.resize(blocks);
  buckets_ = buckets;
  appenders_.resize(parts.size());
  std::uint64_t first = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    appenders_[i].reset(memory_.as<Entry>(), next_.data(), static_cast<std::uint32_t>(first), buckets);
    first += blocks_of(parts[i]);
  }
}

void EntryBlocks::Appender::reset(Entry* entries, std::uint32_t* next, std::uint32_t first,
                                  std::size_t buckets) {
  entries_ = entries;
  next_ = next;
  unused_ = first + static_cast<std::uint32_t>(buckets);
  filled_.assign(buckets, 0);
  cursors_.resize(buckets);
  heads_.resize(buckets);
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    heads_[bucket] = first + static_cast<std::uint32_t>(bucket);
    cursors_[bucket] = entries + std::size_t{heads_[bucket]} * entries_per_block;
  }
}

void EntryBlocks::Appender::extend(std::size_t bucket) noexcept {
  next_[block_of(cursors_[bucket] - 1)] = unused_;
  cursors_[bucket] = entries_ + std::size_t{unused_} * entries_per_block;
  ++filled_[bucket];
  ++unused_;
}

std::uint64_t EntryBlocks::entries_in(std::size_t bucket) const noexcept {
  std::uint64_t count = 0;
  for (const Appender& appender : appenders_) {
    const auto in_last =
        reinterpret_cast<std::uintptr_t>(appender.cursors_[bucket]) % block_alignment / sizeof(Entry);
    count += std::uint64_t{appender.filled_[bucket]} * entries_per_block + in_last;
  }
  return count;
}

}  // namespace sortcore
