// The records of a two-pass sort between the passes: in memory as far as there is room, otherwise on disk.
//
// All record memory is one array of equal chunks. A chunk is free, or belongs to a thread that fills it, or
// to a partition. When few are free, chunks go to the scratch files, always of the partition whose turn in
// the second pass comes last. So memory ends up holding the partitions that are needed first. A first pass
// states in advance how many chunks it will take: once there is room for all the rest, nothing more is
// written. So only the excess is written.
//
// Liveness: every wait ends because a thread that does not wait for this one frees a chunk, or brings one.
//
// * First pass. `acquire` waits for a free chunk, which a writer frees. The writer waits only for the disk
//   and for a chunk to write. There is one whenever none is free: a distributor keeps one open chunk for each
//   of its partitions. A division into P partitions has at most 2 P + 1, and every plan has more chunks
//   than all distributors then keep. `drain` waits only for a chunk of its partition that is being written,
//   and reads into its caller's memory.
// * Second pass. Writers of output wait only for the disk, and the sorter, while it has chunks, only for
//   them. So the sorter comes to `take` or `take_any` of the next partition, A, and no partition before A has
//   chunks left. Its precondition: `take` is only for a partition with no more chunks than there are.
// * While the sorter waits, a chunk of A on the disk is the first that a loader brings, as A is first in the
//   order: a partition leaves the order when all of it is in memory, and while it waits there it is not
//   written. If there is no room, a loader writes a chunk of a later partition, and the room is for A.
//   That can happen once for each chunk of A, so it ends. If no later partition has a chunk in memory, all
//   chunks are A's, or being moved, which ends; not all can be A's while one of A is on the disk.
// * `drain` needs no room, so a partition that it or `take_any` empties may have any size.
// * Packing changes none of this. The thread that writes or reads a chunk packs or unpacks it, without the
//   lock, in a buffer that is not a chunk and that no thread waits for. Packed data takes a whole chunk again
//   when it is back.
//
// Wake-ups, by waiting thread. No other thread changes what it waits for:
//
// * a distributor that waits for a free chunk: by any thread that frees one (`release`, a touched, a written
//   or a drained chunk), one for each;
// * the thread that touches: by `acquire` once too few chunks are free, and by the end;
// * a writer: by `acquire`, which leaves fewer chunks free, by `add`, which brings one to write, by a writer
//   that leaves more to do, and by the end;
// * a loader: by any thread that frees a chunk, by the sorter that begins to wait, and by a loader that
//   leaves more to do or finds the end. A loader that has loaded or written a chunk looks itself;
// * the sorter in `take` or `take_any`, one thread: by a loader that brought its chunk;
// * `drain`: by any thread that has written or loaded a chunk, all waiting threads, as each may want another
//   partition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "sortcore/external/external_plan.hpp"
#include "sortcore/external/packing.hpp"
#include "sortcore/io/block_pool.hpp"
#include "sortcore/io/monitor.hpp"
#include "sortcore/io/packed_scratch.hpp"

namespace sortcore {

class ChunkStore {
 public:
  using Chunk = BlockPool::Block;
  using Partition = std::uint32_t;

  // A chunk in memory, its used bytes, and its number within its partition in the order of the input (if
  // requested).
  struct FilledChunk {
    Chunk chunk;
    std::uint32_t bytes;
    std::uint32_t sequence = 0;
  };

  ChunkStore(Monitor& monitor, ScratchFiles& scratch, const ExternalPlan& plan);

  std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  const std::byte* memory() const noexcept { return memory_.data(); }
  std::byte* data(Chunk chunk) noexcept { return memory_.data() + std::size_t{chunk} * chunk_bytes_; }

  // Partitions are processed in the order in which they are added, or just before `before` if given.
  Partition add_partition(std::optional<Partition> before = std::nullopt);
  std::uint64_t bytes_of(Partition partition);

  // First pass. `acquire` waits for a free chunk; `add` hands a filled one to its partition.
  Chunk acquire(StageClock& clock);
  void add(Partition partition, FilledChunk filled);
  void release(Chunk chunk);

  // Work of a thread that touches fresh memory ahead of need, as the first touch takes the system longer than
  // the distributors can wait. As long as data must be written anyway, chunks are written until it has
  // touched fresh ones; after that, distributors touch what they need. Returns after `stop_spilling`.
  void touch_ahead();

  // Work of a thread that writes: whenever few chunks are free, writes one. Returns after `stop_spilling`.
  void spill_while_needed(StageClock& clock);
  // `expected_chunks` is an estimate: if fewer come, too much is written, and if more come, the last of them
  // wait for the disk.
  void start_spilling(std::uint64_t expected_chunks);
  // True if there is room for all data still to come.
  bool holds_the_rest();
  void stop_spilling();

  // Second pass. Work of a thread that reads: brings the spilled chunks of the partitions in `order` back,
  // the first partition first, as chunks become free. Returns when all have been in memory.
  void begin_loading(std::vector<Partition> order);
  void load_all(StageClock& clock);
  // Waits until the whole partition, which must fit into the chunks, is in memory, and hands it over; the
  // caller releases the chunks.
  std::vector<FilledChunk> take(Partition partition, StageClock& clock);
  // Waits for any chunk of the partition; nothing when all have been taken.
  std::optional<FilledChunk> take_any(Partition partition, StageClock& clock);

  // Splitting a partition again. `drain` copies any of its chunks, or the next of them in order, wherever it
  // is, into a buffer and frees it; nothing when the partition is empty. `sample_chunks` passes `visit` the
  // first `most_bytes` of each of its chunks (no other thread may use the store meanwhile) and returns the
  // bytes read from disk for that.
  struct Drained {
    std::size_t bytes;
    std::uint32_t sequence;
  };
  std::optional<Drained> drain(Partition partition, std::byte* into, StageClock& clock, bool in_order);
  using Visit = std::function<void(std::span<const std::byte>)>;
  std::uint64_t sample_chunks(Partition partition, std::size_t most_bytes, const Visit& visit);
  std::size_t chunks_of(Partition partition);
  std::size_t written_chunks_of(Partition partition);

  // Bytes that went to the scratch files, as they were in memory; and bytes moved for that.
  std::uint64_t spilled_bytes() const noexcept { return spilled_bytes_; }
  const PackedScratch& scratch() const noexcept { return scratch_; }

 private:
  struct WrittenChunk {
    StoredChunk stored;
    std::uint32_t sequence;
  };
  struct Content {
    std::vector<FilledChunk> in_memory;
    std::deque<WrittenChunk> on_disk;
    std::uint32_t transfers_running = 0;  // chunks being written or read just now
    std::uint64_t bytes = 0;              // all, wherever they are
  };
  struct Load {
    Partition partition;
    WrittenChunk from;
    Chunk into;
  };
  Chunk take_free() noexcept;
  void free_chunk(Chunk chunk);
  bool has_free_chunk() const noexcept { return !free_.empty() || untouched_ < chunks_; }
  bool holds_the_rest_locked() const noexcept;
  bool touching_is_due() const noexcept;
  bool can_spill() const noexcept;
  bool can_load() noexcept;
  std::optional<Partition> last_in_memory() const noexcept;
  static bool next_is_in_memory(Content& content) noexcept;
  Drained drain_from_memory(Content& content, std::unique_lock<std::mutex>& lock, std::byte* into);
  Drained drain_from_disk(Content& content, std::unique_lock<std::mutex>& lock, std::byte* into,
                          StageClock& clock);
  bool is_complete(const Content& content) const noexcept;
  bool must_make_room() const noexcept;
  std::optional<Partition> next_on_disk() noexcept;
  std::size_t group_of(Partition partition) const noexcept;
  void begin_waiting_for(Partition partition, bool any_will_do);
  void spill_one(std::unique_lock<std::mutex>& lock, StageClock& clock);
  std::optional<Load> next_load(StageClock& clock);
  void load(const Load& load, StageClock& clock);

  Monitor& monitor_;
  Condition freed_;
  Condition touching_due_;
  Condition spilling_due_;
  Condition loading_due_;
  Condition loaded_;
  Condition written_;
  PackedScratch scratch_;
  bool packs_;
  std::size_t chunk_bytes_;
  std::size_t low_water_;
  std::uint64_t least_room_;  // for any chunks to come
  std::uint64_t expected_chunks_ = 0;
  std::size_t planned_partitions_;
  Buffer memory_;
  std::vector<Chunk> free_;
  Chunk untouched_ = 0;  // this chunk and those after it have never been used
  Chunk chunks_;
  std::size_t spilling_ = 0;
  bool spill_stopped_ = true;
  std::vector<Content> contents_;
  std::vector<Partition> sequence_;  // in the order of processing
  std::vector<Partition> loading_;   // of these, those not all in memory yet; the next is at the back
  std::optional<Partition> awaited_;
  bool any_will_do_ = false;  // any chunk of the awaited partition is enough
  std::uint64_t spilled_bytes_ = 0;
};

}  // namespace sortcore
