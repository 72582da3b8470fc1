// A sorted text in a scratch file without a name, in pieces that are packed with LZ4 or plain.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <vector>

#include "sortcore/buffer.hpp"
#include "sortcore/external/packing.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/io/lz4.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

// Shared state of all runs of a sort: whether to pack, and the resulting sizes. Threads may use it at once.
class RunPacking {
 public:
  RunPacking(const PackingChoice& choice, unsigned threads);

  const PackingChoice& choice() const noexcept { return choice_; }
  bool is_on();
  // Calls `write`, which waits for the system.
  void time(const std::function<void()>& write);

  std::atomic<std::uint64_t> spilled_bytes{0};
  std::atomic<std::uint64_t> packed_bytes{0};
  std::atomic<std::uint64_t> packed_to_bytes{0};

 private:
  PackingChoice choice_;
  std::mutex mutex_;
  StageClock writing_;
  PackingSwitch switch_;
};

class RunFile {
 public:
  // LZ4's window. Every run in a merge needs room for two pieces.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 16;
  using Gather = std::function<void(std::uint64_t from, std::span<std::byte> out)>;

  // `packing` must outlive it.
  RunFile(File file, RunPacking& packing) : file_(std::move(file)), packing_(packing) {}

  // Writes `bytes` that threads gather at any place; once, to an empty file. Throws Error(io).
  void fill(std::uint64_t bytes, unsigned threads, const Gather& gather, const Progress* progress);
  // Appends bytes.
  void append(std::span<const std::byte> bytes);

  // Reads the next bytes, as many as there are, up to `most`. Throws Error(io) also for a piece that has
  // changed since it was written, naming the file.
  std::size_t read(std::byte* into, std::size_t most);
  const std::string& path() const noexcept { return file_.path(); }
  // Memory for reading in addition to `into`.
  static constexpr std::size_t reading_bytes = 2 * piece_bytes;

 private:
  struct Piece {
    std::uint64_t offset;
    std::uint32_t bytes;
    std::uint32_t stored_bytes;
    std::uint32_t checksum;  // of a packed one, in its stored form
  };
  Piece write_piece(std::span<const std::byte> text, std::span<std::byte> room);
  void read_piece(const Piece& piece, std::byte* into);

  File file_;
  RunPacking& packing_;
  std::atomic<std::uint64_t> end_{0};
  std::vector<Piece> pieces_;
  std::size_t next_ = 0;  // to be read
  Buffer packed_;
  Buffer begun_;  // the piece read last, if there was no room for all of it
  std::size_t begun_at_ = 0;
  std::size_t begun_end_ = 0;
};

}  // namespace sortcore
