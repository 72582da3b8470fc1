// Chunks in the scratch files, packed with LZ4 if wanted and if that makes them smaller.
//
// Packing needs a buffer for each thread that is writing or reading. Buffers are made on demand and kept, so
// no thread waits for one, and there are never more than such threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "sortcore/buffer.hpp"
#include "sortcore/io/lz4.hpp"
#include "sortcore/io/scratch_files.hpp"

namespace sortcore {

// A chunk in the scratch files. A packed one has fewer bytes there than in memory.
struct StoredChunk {
  Extent extent;
  std::uint32_t bytes;
  std::uint32_t stored_bytes;
  std::uint32_t checksum;  // of a packed one, in its stored form

  bool is_packed() const noexcept { return stored_bytes < bytes; }
};

// Threads may use it at once.
class PackedScratch {
 public:
  // Chunks of at most `chunk_bytes`. Without `lz4`, which must outlive this, nothing is packed.
  PackedScratch(ScratchFiles& files, std::size_t chunk_bytes, const Lz4* lz4);

  // Packs if `wanted` and if that saves an eighth. A direct write takes whole pages from `chunk`. Throws
  // Error(io).
  StoredChunk write(std::span<const std::byte> chunk, std::size_t group, bool wanted);
  // Reads all of it into `into`, which needs room for its bytes rounded up to pages. Throws Error(io) also
  // for a packed one that has changed since it was written, naming the scratch file.
  void read(std::byte* into, const StoredChunk& chunk);
  // Reads at least its first `bytes`, for a sample: returns the bytes read from the disk, which the counters
  // below exclude.
  std::size_t read_beginning(std::byte* into, std::size_t bytes, const StoredChunk& chunk);
  // Marks the chunk as no longer needed.
  void discard(const StoredChunk& chunk) { files_.discard(chunk.extent); }

  // Bytes moved to and from the files, without padding to pages.
  std::uint64_t written_bytes() const noexcept { return written_bytes_; }
  std::uint64_t read_bytes() const noexcept { return read_bytes_; }
  // Bytes that were packed, and their packed size.
  std::uint64_t packed_bytes() const noexcept { return packed_bytes_; }
  std::uint64_t packed_to_bytes() const noexcept { return packed_to_bytes_; }

 private:
  class Borrowed;
  void read_all(std::byte* into, const StoredChunk& chunk);
  std::size_t pack(std::span<const std::byte> chunk, std::span<std::byte> into) const noexcept;

  ScratchFiles& files_;
  std::size_t buffer_bytes_;
  const Lz4* lz4_;
  std::mutex mutex_;
  std::vector<Buffer> idle_;
  std::atomic<std::uint64_t> written_bytes_{0};
  std::atomic<std::uint64_t> read_bytes_{0};
  std::atomic<std::uint64_t> packed_bytes_{0};
  std::atomic<std::uint64_t> packed_to_bytes_{0};
};

}  // namespace sortcore
