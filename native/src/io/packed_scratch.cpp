#include "sortcore/io/packed_scratch.hpp"

#include <algorithm>
#include <utility>

#include "sortcore/validation/crc32.hpp"

namespace sortcore {
namespace {

constexpr std::size_t least_saved_share = 8;

}  // namespace

// A buffer, for the duration of its use.
class PackedScratch::Borrowed {
 public:
  explicit Borrowed(PackedScratch& owner) : owner_(owner) {
    {
      const std::lock_guard lock(owner_.mutex_);
      if (!owner_.idle_.empty()) {
        buffer_ = std::move(owner_.idle_.back());
        owner_.idle_.pop_back();
      }
    }
    buffer_.reserve_discarding(owner_.buffer_bytes_);
  }
  ~Borrowed() {
    const std::lock_guard lock(owner_.mutex_);
    owner_.idle_.push_back(std::move(buffer_));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  std::byte* data() noexcept { return buffer_.data(); }
  std::span<std::byte> first(std::size_t bytes) noexcept { return buffer_.first(bytes); }

 private:
  PackedScratch& owner_;
  Buffer buffer_;
};

PackedScratch::PackedScratch(ScratchFiles& files, std::size_t chunk_bytes, const Lz4* lz4)
    : files_(files), buffer_bytes_(round_up_to_pages(chunk_bytes)), lz4_(lz4) {}

// Returns 0 if too little is saved.
std::size_t PackedScratch::pack(std::span<const std::byte> chunk, std::span<std::byte> into) const noexcept {
  const std::size_t most = chunk.size() - chunk.size() / least_saved_share;
  const std::size_t packed = lz4_->pack(chunk, into.first(most));
  return round_up_to_pages(packed) < round_up_to_pages(chunk.size()) ? packed : 0;
}

StoredChunk PackedScratch::write(std::span<const std::byte> chunk, std::size_t group, bool wanted) {
  const auto bytes = static_cast<std::uint32_t>(chunk.size());
  if (wanted && lz4_ != nullptr) {
    Borrowed buffer(*this);
    const std::size_t packed = pack(chunk, buffer.first(buffer_bytes_));
    if (packed != 0) {
      const Extent extent = files_.write(buffer.data(), packed, group);
      written_bytes_ += packed;
      packed_bytes_ += bytes;
      packed_to_bytes_ += packed;
      return {extent, bytes, static_cast<std::uint32_t>(packed), crc32(buffer.first(packed))};
    }
  }
  const Extent extent = files_.write(chunk.data(), bytes, group);
  written_bytes_ += bytes;
  return {extent, bytes, bytes, 0};
}

void PackedScratch::read(std::byte* into, const StoredChunk& chunk) {
  read_bytes_ += chunk.stored_bytes;
  read_all(into, chunk);
}

void PackedScratch::read_all(std::byte* into, const StoredChunk& chunk) {
  if (!chunk.is_packed()) return files_.read(into, chunk.bytes, chunk.extent);
  Borrowed buffer(*this);
  files_.read(buffer.data(), chunk.stored_bytes, chunk.extent);
  const std::span<const std::byte> stored = buffer.first(chunk.stored_bytes);
  if (crc32(stored) != chunk.checksum || !lz4_->unpack(stored, {into, chunk.bytes}))
    files_.fail_damaged(chunk.extent);
}

std::size_t PackedScratch::read_beginning(std::byte* into, std::size_t bytes, const StoredChunk& chunk) {
  if (chunk.is_packed()) {
    read_all(into, chunk);
    return chunk.stored_bytes;
  }
  files_.read(into, bytes, chunk.extent);
  return bytes;
}

}  // namespace sortcore
