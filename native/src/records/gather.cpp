#include "records/gather.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "prefetch.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sortcore {
namespace {

constexpr std::size_t line_bytes = cache_line_bytes;
constexpr std::size_t stage_bytes = 8192;  // whole lines, and stays in the first-level cache
constexpr std::size_t largest_staged = 1024;
constexpr std::size_t prefetch_ahead = 64;  // records

// Copies whole cache lines to an aligned address, bypassing the cache.
inline void stream_lines(std::byte* to, const std::byte* from, std::size_t bytes) {
#if defined(__x86_64__)
  for (std::size_t at = 0; at < bytes; at += 16) {
    const __m128i part = _mm_load_si128(reinterpret_cast<const __m128i*>(from + at));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + at), part);
  }
#else
  std::memcpy(to, from, bytes);
#endif
}

// Makes streamed lines visible to other threads.
inline void finish_streaming() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

// Collects bytes in the cache and passes them on in whole lines.
class StreamingWriter {
 public:
  explicit StreamingWriter(std::byte* out)
      : out_(out), filled_(reinterpret_cast<std::uintptr_t>(out) % line_bytes) {
    begin_ = filled_;
    out_ -= filled_;
  }
  ~StreamingWriter() {
    flush();
    std::memcpy(out_ + begin_, stage_.data() + begin_, filled_ - begin_);
    finish_streaming();
  }
  std::byte* room() noexcept {
    if (filled_ > stage_bytes) flush();
    return stage_.data() + filled_;
  }
  void advance(std::size_t bytes) noexcept { filled_ += bytes; }

 private:
  // Passes on the whole lines; a first one whose beginning other threads write is copied by ordinary stores.
  void flush() noexcept {
    const std::size_t whole = filled_ / line_bytes * line_bytes;
    if (whole == 0) return;
    std::size_t from = 0;
    if (begin_ != 0) {
      std::memcpy(out_ + begin_, stage_.data() + begin_, line_bytes - begin_);
      from = line_bytes;
      begin_ = 0;
    }
    stream_lines(out_ + from, stage_.data() + from, whole - from);
    out_ += whole;
    std::memcpy(stage_.data(), stage_.data() + whole, line_bytes);
    filled_ -= whole;
  }

  alignas(line_bytes) std::array<std::byte, stage_bytes + largest_staged + line_bytes> stage_;
  std::byte* out_;
  std::size_t begin_;
  std::size_t filled_;
};

// `Bytes` is the size of records without gaps, or 0 when it is known only at run time.
template <std::size_t Bytes, typename Write>
inline void copy_in_order(const RecordArray& records, const std::uint32_t* order, std::size_t count,
                          Write write) {
  const std::size_t bytes = Bytes != 0 ? Bytes : records.record_bytes();
  const RecordArray array = records;  // a local copy stays in registers
  const auto record = [&](std::size_t i) {
    return Bytes != 0 ? array.record(0) + std::size_t{order[i]} * Bytes : array.record(order[i]);
  };
  const std::size_t ahead = std::min(prefetch_ahead, count);
  for (std::size_t i = 0; i < ahead; ++i) prefetch_record(record(i), bytes);
  for (std::size_t i = 0; i + ahead < count; ++i) {
    prefetch_record(record(i + ahead), bytes);
    write(record(i), bytes);
  }
  for (std::size_t i = count - ahead; i < count; ++i) write(record(i), bytes);
}

template <std::size_t Bytes>
void gather(const RecordArray& records, const std::uint32_t* order, std::size_t count, std::byte* out,
            bool streaming) {
  if (streaming && records.record_bytes() <= largest_staged) {
    StreamingWriter writer(out);
    copy_in_order<Bytes>(records, order, count, [&](const std::byte* record, std::size_t bytes) {
      std::memcpy(writer.room(), record, bytes);
      writer.advance(bytes);
    });
  } else {
    copy_in_order<Bytes>(records, order, count, [&](const std::byte* record, std::size_t bytes) {
      std::memcpy(out, record, bytes);
      out += bytes;
    });
  }
}

}  // namespace

void gather_records(const RecordArray& records, const std::uint32_t* order, std::size_t count, std::byte* out,
                    bool streaming) {
  if (count == 0) return;
  const std::size_t known_bytes = records.has_no_gaps() ? records.record_bytes() : 0;
  const auto copy = known_bytes == 100 ? gather<100> : known_bytes == 16 ? gather<16> : gather<0>;
  copy(records, order, count, out, streaming);
}

}  // namespace sortcore
