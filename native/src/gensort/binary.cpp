#include <algorithm>
#include <array>
#include <cstring>

#include "bytes.hpp"
#include "gensort/random.hpp"
#include "gensort/records.hpp"
#include "sortcore/gensort/generate.hpp"

namespace sortcore::gensort {
namespace {

constexpr std::size_t chunk_bytes = 10;
constexpr std::size_t chunks_per_record = 10;

// Chunk j of every record is XORed with constant j, so that the ten numbers a record shares with its
// neighbours differ.
constexpr std::array<std::uint8_t, generated_record_bytes> chunk_constants = {
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  // the key itself
    0xF0, 0xE8, 0xE4, 0xE2, 0xE1, 0xD8, 0xD4, 0xD2, 0xD1, 0xCC,  //
    0xCA, 0xC9, 0xC6, 0xC5, 0xC3, 0xB8, 0xB4, 0xB2, 0xB1, 0xAC,  //
    0xAA, 0xA9, 0xA6, 0xA5, 0xA3, 0x9C, 0x9A, 0x99, 0x96, 0x95,  //
    0x93, 0x8E, 0x8D, 0x8B, 0x87, 0x78, 0x74, 0x72, 0x71, 0x6C,  //
    0x6A, 0x69, 0x66, 0x65, 0x63, 0x5C, 0x5A, 0x59, 0x56, 0x55,  //
    0x53, 0x4E, 0x4D, 0x4B, 0x47, 0x3C, 0x3A, 0x39, 0x36, 0x35,  //
    0x33, 0x2E, 0x2D, 0x2B, 0x27, 0x1E, 0x1D, 0x1B, 0x17, 0x0F,  //
    0xC8, 0xC4, 0xC2, 0xC1, 0x98, 0x94, 0x92, 0x91, 0x8C, 0xE0,  //
    0x17, 0x0F, 0x33, 0x2E, 0x2D, 0x2B, 0x27, 0x1E, 0x1D, 0x1B,
};

// The top 80 bits of consecutive random numbers, one after another. Record i is the 100 bytes from chunk i
// on, XOR the constants: every number is computed once and every record is one wide XOR.
class ChunkStream {
 public:
  static constexpr std::size_t records = 256;

  explicit ChunkStream(U128 first) : random_(random_number(first)) { append(0, chunks_per_record - 1); }

  // Moves on by `records` records and returns the first one's chunks.
  const std::byte* advance() {
    append(chunks_per_record - 1, records);
    return chunks_.data();
  }
  // Keeps the chunks that the next records share with the last.
  void keep_tail() {
    std::memmove(chunks_.data(), chunks_.data() + records * chunk_bytes,
                 (chunks_per_record - 1) * chunk_bytes);
  }

 private:
  void append(std::size_t at_chunk, std::size_t count) {
    std::byte* to = chunks_.data() + at_chunk * chunk_bytes;
    for (std::size_t i = 0; i < count; ++i, to += chunk_bytes) {
      store_big_endian(to, high64(random_));
      store_big_endian(to + 8, low64(random_));  // six bytes too many, overwritten by the next chunk
      random_ = next(random_);
    }
  }

  U128 random_;
  std::array<std::byte, (records + chunks_per_record) * chunk_bytes> chunks_{};
};

void xor_record(const std::byte* chunks, std::byte* out) {
  for (std::size_t i = 0; i < generated_record_bytes; ++i) out[i] = chunks[i] ^ std::byte{chunk_constants[i]};
}

}  // namespace

void fill_binary(U128 first, std::span<std::byte> out) {
  ChunkStream stream(first);
  std::byte* to = out.data();
  for (std::size_t left = out.size() / generated_record_bytes; left != 0;) {
    const std::byte* chunks = stream.advance();
    const std::size_t count = std::min(left, ChunkStream::records);
    for (std::size_t i = 0; i < count; ++i, to += generated_record_bytes)
      xor_record(chunks + i * chunk_bytes, to);
    stream.keep_tail();
    left -= count;
  }
}

}  // namespace sortcore::gensort
