#include "keys/text_memory.hpp"

#include <algorithm>

#include "counted.hpp"
#include "keys/ended_lines.hpp"
#include "lines/line_index.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/error.hpp"
#include "sortcore/keys/line_encoder.hpp"

namespace sortcore {
namespace {

// A tenth more than needed, and Python's share of the memory that a command is given.
std::uint64_t rounded(std::uint64_t bytes) {
  constexpr std::uint64_t unit = 1'000'000, of_python = 32;
  return ((bytes + bytes / 10) / unit + of_python) * unit;
}

}  // namespace

std::uint64_t fixed_bytes(unsigned threads) {
  constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20, buffers = 4;
  return line_scratch_bytes(0, threads) + threads * 4 * block_bytes + buffers * Buffer::huge_page_bytes;
}

std::uint64_t text_bytes_for(std::span<const std::byte> head, const KeyOrder& order,
                             std::uint64_t memory_bytes, unsigned threads) {
  constexpr std::uint64_t spare_share = 10, many = 1'000'000, least_bytes = 2 << 20;
  memory_bytes -= std::min(fixed_bytes(threads), memory_bytes / 2);
  LineEncoder encoder(order);
  GrowingBytes keys;
  std::uint64_t lines = 1;
  try {
    for (auto rest = head; !rest.empty(); ++lines) {
      const auto line = take_ended_line(rest, order);
      if (!line) break;
      encoder.append(*line, keys);
    }
  } catch (const Error&) {  // the sort will report the wrong row
  }
  const std::uint64_t of_line = line_scratch_bytes(many, threads) / many + 2 * sizeof(std::uint64_t);
  const std::uint64_t beside = lines * of_line + keys.size();
  const std::uint64_t whole = std::max<std::uint64_t>(head.size(), 1) + beside + beside / spare_share;
  const double share = static_cast<double>(head.size()) / static_cast<double>(whole);
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(share * static_cast<double>(memory_bytes)),
                                 least_bytes);
}

LineLimits::LineLimits(const KeyOrder& order, bool unique, std::uint64_t memory_bytes, unsigned threads)
    : order_(order),
      unique_(unique),
      memory_bytes_(memory_bytes),
      fixed_bytes_(std::min(fixed_bytes(threads), memory_bytes / 2)) {}

LongLine LineLimits::unread(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const bool has_long_keys =
      std::ranges::any_of(order_.parts, [](const KeyPart& part) { return is_of_text(part.kind); });
  return {offset, bytes, has_long_keys ? bytes : 0};
}

std::uint64_t LineLimits::most_text_bytes() const noexcept { return (memory_bytes_ - fixed_bytes_) / 4 * 3; }

// A buffer grows by a quarter. With `unique` the last key is kept, twice while it is replaced.
std::uint64_t LineLimits::merge_bytes(const LongLine& line) const noexcept {
  const std::uint64_t compared = order_.is_whole_line() ? line.bytes : line.key_bytes;
  return line.bytes + line.bytes / 4 + (key_copies - 1) * line.key_bytes + (unique_ ? 2 * compared : 0);
}

// The text grows by a half if its share is too small.
std::uint64_t LineLimits::needed_to_sort(const LongLine& line, double text_share) const noexcept {
  const std::uint64_t keys = key_copies * line.key_bytes;
  const double share_of_keys = std::max(1 - text_share, 1.0 / 16);
  const auto beside_text = static_cast<std::uint64_t>(static_cast<double>(keys) / share_of_keys);
  const std::uint64_t to_sort = std::max(line.bytes + line.bytes / 2 + keys, beside_text) + fixed_bytes_;
  return std::max(to_sort, needed_to_merge(merge_bytes(line)));
}

std::uint64_t LineLimits::needed_to_merge(std::uint64_t merge_bytes) const noexcept {
  return merge_bytes / 7 * 8;
}

std::uint64_t LineLimits::needed_for_unforeseen(std::uint64_t merge_bytes) const noexcept {
  return merge_bytes / 3 * 8;
}

void LineLimits::refuse(const std::string& path, const LongLine& line, std::uint64_t needed_bytes) const {
  const char* const what = order_.record_bytes != 0 ? "record" : order_.csv ? "row" : "line";
  const std::uint64_t enough = std::max(rounded(needed_bytes), rounded(memory_bytes_));
  throw Error(ErrorCode::too_little_memory,
              path + ": the " + what + " that begins at byte " + std::to_string(line.offset) + " has " +
                  counted(line.bytes, "byte") + ", which with what sorting it takes do not fit into " +
                  counted(memory_bytes_, "byte") + " of memory; give at least " + std::to_string(enough),
              path, static_cast<std::int64_t>(line.offset));
}

}  // namespace sortcore
