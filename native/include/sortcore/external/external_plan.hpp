// The plan by which a sort of files divides its memory. Pure arithmetic: the same numbers give the same plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sortcore/external/packing.hpp"
#include "sortcore/records/record_format.hpp"

namespace sortcore {

struct ExternalPlan {
  std::uint64_t memory_bytes = 0;
  unsigned threads = 1;      // computing threads: distribute, sort, gather
  unsigned queue_depth = 4;  // concurrent transfers of each kind
  std::string queue_depth_reason;
  std::size_t grain_bytes = 1;  // unit in which chunks are filled: see Grain
  std::size_t block_bytes = 0;  // of input reads and output writes
  std::size_t blocks = 0;
  std::size_t chunk_bytes = 0;  // of temporary transfers
  std::size_t chunks = 0;
  std::size_t low_water_chunks = 0;  // below this many free chunks, distributed data goes to disk
  Packing packing = Packing::never;  // of temporary transfers
  std::string packing_reason;
  std::size_t pack_buffers = 0;  // of a chunk's size, for threads that write or read them
  std::size_t partitions = 1;
  std::uint64_t partition_limit_bytes = 0;  // a larger one is split again
  std::uint64_t scratch_bytes = 0;          // to sort one as large as that
  bool stable = false;
  bool direct = true;
  bool padded = false;  // see Grain
  bool wanted_direct = true;

  // Usable bytes of a chunk: whole grains.
  std::size_t chunk_capacity_bytes() const noexcept { return chunk_bytes / grain_bytes * grain_bytes; }
};

struct PlanRequest {
  std::uint64_t input_bytes = 0;
  RecordFormat format;
  std::uint64_t memory_bytes = 0;
  unsigned threads = 1;
  unsigned queue_depth = 4;
  std::string queue_depth_reason = "given, or the usual";
  unsigned outputs = 1;
  bool wants_direct = true;
  bool stable = false;  // equal keys keep the order of the input
  PackingChoice packing;
};

// The unit of chunks, and mostly of blocks: whole records and, if transfers are direct, whole pages. If they
// are direct and `padded` it is a record: chunks hold whole records and are padded to a page; blocks are
// whole pages, so that those of the output cut records.
struct Grain {
  std::size_t bytes;
  bool direct;
  bool padded;

  // Unit of the sizes of output blocks.
  std::size_t output_bytes() const noexcept;
};

// With direct transfers a grain is the least common multiple of a record and a page. If that is too large for
// a block, or for little memory, chunks are padded; if there is too little memory for that, transfers go
// through the page cache.
Grain choose_grain(const PlanRequest& request);

// For a sort in two passes. Throws Error(too_little_memory), stating a sufficient amount.
ExternalPlan plan_two_passes(const PlanRequest& request);

// Chunks that a first pass needs in addition to those its bytes would fill: a distributor leaves the last
// chunk of each of its partitions about half full. If not all fits, the first of them is handed over early,
// too (Distributor::first_capacity). `opened` are the partitions of all distributors.
struct PartFilled {
  std::uint64_t if_all_fits;
  std::uint64_t if_not;
};
PartFilled part_filled_chunks(std::uint64_t opened);

// Memory that one pass over a mapped input needs: the pages of the input, the keys, the blocks.
std::uint64_t one_pass_memory_bytes(const PlanRequest& request);

// True if the memory is enough for that, and the records are few enough for a sort in memory.
bool fits_in_one_pass(const PlanRequest& request);

// Default memory limit: four fifths of the available memory, within the process's control groups, and a
// quarter of the address space that `ulimit -v` leaves, unless the caller sees to that.
std::uint64_t default_memory_bytes(bool within_address_space = true);

}  // namespace sortcore
