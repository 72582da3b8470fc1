#include "keys/run_file.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "sortcore/io/scratch_files.hpp"
#include "sortcore/threads.hpp"
#include "sortcore/validation/crc32.hpp"

namespace sortcore {

RunPacking::RunPacking(const PackingChoice& choice, unsigned threads)
    : choice_(choice), switch_(choice.packing, threads) {
  switch_.watch(&writing_, threads);
}

bool RunPacking::is_on() {
  const std::lock_guard lock(mutex_);
  return switch_.is_on();
}

void RunPacking::time(const std::function<void()>& write) {
  std::unique_lock lock(mutex_);
  const WaitTimer timer(writing_);
  lock.unlock();
  write();
  lock.lock();
}

void RunFile::fill(std::uint64_t bytes, unsigned threads, const Gather& gather, const Progress* progress) {
  pieces_.resize((bytes + piece_bytes - 1) / piece_bytes);
  threads = static_cast<unsigned>(std::clamp<std::uint64_t>(pieces_.size(), 1, threads));
  std::atomic<std::uint64_t> next{0};
  run_parallel(threads, [&](unsigned) {
    Buffer memory(2 * piece_bytes);
    for (std::uint64_t number = next++; number < pieces_.size(); number = next++) {
      throw_if_cancelled(progress);
      const std::uint64_t from = number * piece_bytes;
      const auto text = memory.first(std::min<std::uint64_t>(piece_bytes, bytes - from));
      gather(from, text);
      pieces_[number] = write_piece(text, {memory.data() + piece_bytes, piece_bytes});
    }
  });
}

void RunFile::append(std::span<const std::byte> bytes) {
  packed_.reserve_discarding(piece_bytes);
  while (!bytes.empty()) {
    const auto text = bytes.first(std::min(bytes.size(), piece_bytes));
    pieces_.push_back(write_piece(text, packed_.first(piece_bytes)));
    bytes = bytes.subspan(text.size());
  }
}

RunFile::Piece RunFile::write_piece(std::span<const std::byte> text, std::span<std::byte> room) {
  const auto bytes = static_cast<std::uint32_t>(text.size());
  Piece piece{0, bytes, bytes, 0};
  const std::size_t most = text.size() - text.size() / 8;
  const std::size_t packed = packing_.is_on() ? Lz4::of_the_system()->pack(text, room.first(most)) : 0;
  if (packed != 0) {
    text = room.first(packed);
    piece.stored_bytes = static_cast<std::uint32_t>(packed);
    piece.checksum = crc32(text);
    packing_.packed_bytes += bytes;
    packing_.packed_to_bytes += packed;
  }
  packing_.spilled_bytes += bytes;
  piece.offset = end_.fetch_add(piece.stored_bytes);
  packing_.time([&] { file_.write_exactly(text.data(), text.size(), piece.offset); });
  return piece;
}

void RunFile::read_piece(const Piece& piece, std::byte* into) {
  if (piece.stored_bytes == piece.bytes) return file_.read_exactly(into, piece.bytes, piece.offset);
  packed_.reserve_discarding(piece_bytes);
  file_.read_exactly(packed_.data(), piece.stored_bytes, piece.offset);
  const std::span<const std::byte> stored = packed_.first(piece.stored_bytes);
  if (crc32(stored) != piece.checksum || !Lz4::of_the_system()->unpack(stored, {into, piece.bytes}))
    fail_damaged(file_.path(), piece.offset);
}

std::size_t RunFile::read(std::byte* into, std::size_t most) {
  std::size_t done = 0;
  while (done < most) {
    if (begun_at_ == begun_end_) {
      if (next_ == pieces_.size()) break;
      const Piece& piece = pieces_[next_++];
      if (piece.bytes <= most - done) {
        read_piece(piece, into + done);
        done += piece.bytes;
        continue;
      }
      begun_.reserve_discarding(piece_bytes);
      read_piece(piece, begun_.data());
      begun_at_ = 0;
      begun_end_ = piece.bytes;
    }
    const std::size_t part = std::min(begun_end_ - begun_at_, most - done);
    std::memcpy(into + done, begun_.data() + begun_at_, part);
    begun_at_ += part;
    done += part;
  }
  return done;
}

}  // namespace sortcore
