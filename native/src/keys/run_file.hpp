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

// State that all runs of a sort share: whether to pack, and what came of it. Threads may use it at once.
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
  // As much as LZ4 looks back. Every run that is merged needs room for two pieces.
  static constexpr std::size_t piece_bytes = std::size_t{1} << 16;
  using Gather = std::function<void(std::uint64_t from, std::span<std::byte> out)>;

  // `packing` must outlive it.
  RunFile(File file, RunPacking& packing) : file_(std::move(file)), packing_(packing) {}

  // Writes `bytes` that threads gather at any place; once, to an empty file. Throws Error(io).
  void fill(std::uint64_t bytes, unsigned threads, const Gather& gather, const Progress* progress);
  // Writes what comes next.
  void append(std::span<const std::byte> bytes);

  // Reads what comes next, as many bytes as there are, up to `most`. Throws Error(io) also for a piece that
  // is not as it was written, naming the file.
  std::size_t read(std::byte* into, std::size_t most);
  const std::string& path() const noexcept { return file_.path(); }
  // What reading takes beside `into`.
  static constexpr std::size_t reading_bytes = 2 * piece_bytes;

 private:
  struct Piece {
    std::uint64_t offset;
    std::uint32_t bytes;
    std::uint32_t stored_bytes;
    std::uint32_t checksum;  // of a packed one, as it is stored
  };
  Piece write_piece(std::span<const std::byte> text, std::span<std::byte> room);
  void read_piece(const Piece& piece, std::byte* into);

  File file_;
  RunPacking& packing_;
  std::atomic<std::uint64_t> end_{0};
  std::vector<Piece> pieces_;
  std::size_t next_ = 0;  // to be read
  Buffer packed_;
  Buffer begun_;  // the piece that was read last, if there was no room for all of it
  std::size_t begun_at_ = 0;
  std::size_t begun_end_ = 0;
};

}  // namespace sortcore
