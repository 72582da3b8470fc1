#include "lines/line_gather.hpp"

#include <algorithm>
#include <cstring>

#include "bytes.hpp"
#include "prefetch.hpp"

namespace sortcore {
namespace {

// A line's place is prefetched this many lines ahead, then its text.
constexpr std::size_t places_ahead = 24;
constexpr std::size_t text_ahead = 12;
constexpr std::size_t copy_bytes = 32;

void ask_for(const LinePlaces& lines, std::span<const std::uint32_t> order, std::size_t i) noexcept {
  if (i + places_ahead < order.size()) __builtin_prefetch(lines.starts + order[i + places_ahead]);
  if (i + text_ahead >= order.size()) return;
  const std::uint32_t line = order[i + text_ahead];
  prefetch_record(lines.base + lines.starts[line], lines.bytes(line));
}

// In steps of known size, which a compiler turns into wide moves; writes up to one step too much.
void copy_generously(std::byte* to, const std::byte* from, std::size_t bytes) noexcept {
  for (std::size_t at = 0; at < bytes; at += copy_bytes) std::memcpy(to + at, from + at, copy_bytes);
}

// Part of a line: `bytes` from byte `from` on; the line's last byte is its end.
void copy_part(const LinePlaces& lines, std::uint32_t line, std::uint64_t from, std::size_t bytes,
               std::byte* to) noexcept {
  const std::uint64_t text = std::min(lines.bytes(line) - lines.end_bytes - from, std::uint64_t{bytes});
  std::memcpy(to, lines.base + lines.starts[line] + from, text);
  if (text < bytes) to[text] = lines.line_end;
}

}  // namespace

std::size_t gather_lines(const LinePlaces& lines, std::span<const std::uint32_t> order, std::uint64_t skipped,
                         std::span<std::byte> out) {
  std::size_t i = 0;
  for (; i < order.size() && lines.bytes(order[i]) <= skipped; ++i) skipped -= lines.bytes(order[i]);
  std::byte* to = out.data();
  std::byte* const end = to + out.size();
  for (; i < order.size() && to != end; ++i, skipped = 0) {
    ask_for(lines, order, i);
    const std::uint64_t start = lines.starts[order[i]];
    const std::uint64_t bytes = lines.bytes(order[i]);
    if (may_read_beyond && skipped == 0 && bytes + copy_bytes <= static_cast<std::size_t>(end - to) &&
        start + bytes + copy_bytes <= lines.extent) [[likely]] {
      copy_generously(to, lines.base + start, bytes);
      to += bytes;
      if (lines.end_bytes != 0)
        to[-1] = lines.line_end;  // a run without its last newline is followed by unrelated bytes
    } else {
      const auto part = std::min<std::size_t>(bytes - skipped, static_cast<std::size_t>(end - to));
      copy_part(lines, order[i], skipped, part, to);
      to += part;
    }
  }
  return static_cast<std::size_t>(to - out.data());
}

}  // namespace sortcore
