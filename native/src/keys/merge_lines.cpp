#include "keys/merge_lines.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sortcore/error.hpp"
#include "sortcore/lines/line_format.hpp"

namespace sortcore {
namespace {

// Collects lines into blocks.
class BlockWriter {
 public:
  explicit BlockWriter(TextOutput& output) : output_(output), buffer_(block_bytes) {}

  void add(std::span<const std::byte> line) {
    if (line.size() > buffer_.size() - size_) flush();
    if (line.size() > buffer_.size()) return output_.append(line);
    std::memcpy(buffer_.data() + size_, line.data(), line.size());
    size_ += line.size();
  }
  void flush() {
    output_.append(std::as_const(buffer_).first(size_));
    size_ = 0;
  }

 private:
  static constexpr std::size_t block_bytes = std::size_t{1} << 20;

  TextOutput& output_;
  Buffer buffer_;
  std::size_t size_ = 0;
};

}  // namespace

int compare_lines(const KeyedLine& a, const KeyedLine& b, const KeyOrder& order) noexcept {
  const bool by_keys = !order.is_whole_line();
  const int by_key = by_keys ? compare_bytes(a.key, b.key) : 0;
  if (by_key != 0 || (by_keys && !order.whole_line_last)) return by_key;
  const int by_line = compare_bytes(a.line, b.line);
  return order.reversed ? -by_line : by_line;
}

LineMerge::LineMerge(std::vector<LineStream> streams, const KeyOrder& order, bool unique,
                     std::vector<std::string> paths)
    : streams_(std::move(streams)),
      order_(order),
      unique_(unique),
      paths_(std::move(paths)),
      is_descending_(order.is_whole_line() && order.reversed) {
  paths_.resize(streams_.size());
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    if (streams_[i].next()) open_.push_back(i);
  }
  for (std::size_t i = open_.size(); i-- > 0;) sink(i);
}

void LineMerge::advance() {
  const std::size_t front = open_.front();
  LineStream& stream = streams_[front];
  if (!paths_[front].empty()) before_.assign(stream.key().begin(), stream.key().end());
  if (!stream.next()) {
    open_.front() = open_.back();
    open_.pop_back();
  } else if (!paths_[front].empty()) {
    require_order(front);
  }
  if (!open_.empty()) sink(0);
}

void LineMerge::require_order(std::size_t stream) const {
  const int sign = compare_bytes(before_, streams_[stream].key());
  if (is_descending_ ? sign >= 0 : sign <= 0) return;
  const std::string what = order_.csv ? "row " : order_.record_bytes != 0 ? "record " : "line ";
  throw Error(ErrorCode::bad_input, paths_[stream] + ": " + what + std::to_string(streams_[stream].row()) +
                                        " is out of order: only sorted inputs can be merged");
}

bool LineMerge::comes_before(std::size_t a, std::size_t b) const noexcept {
  const LineStream &first = streams_[a], &second = streams_[b];
  if (first.prefix() != second.prefix()) return (first.prefix() < second.prefix()) != is_descending_;
  const int order = compare_lines({first.key(), first.line()}, {second.key(), second.line()}, order_);
  return order != 0 ? order < 0 : a < b;
}

void LineMerge::sink(std::size_t at) noexcept {
  const std::size_t stream = open_[at];
  while (true) {
    std::size_t below = 2 * at + 1;
    if (below >= open_.size()) break;
    if (below + 1 < open_.size() && comes_before(open_[below + 1], open_[below])) ++below;
    if (!comes_before(open_[below], stream)) break;
    open_[at] = open_[below];
    at = below;
  }
  open_[at] = stream;
}

std::uint64_t LineMerge::write(TextOutput& output, const Limits& limits, const Progress* progress) {
  constexpr std::uint64_t lines_between_polls = 1 << 16;
  BlockWriter writer(output);
  std::uint64_t lines = 0, bytes = 0;
  for (; !open_.empty() && lines < limits.lines; advance()) {
    LineStream& next = streams_[open_.front()];
    if (unique_ && last_key_ && std::ranges::equal(next.key(), *last_key_)) continue;
    if (bytes >= limits.bytes) break;
    if (unique_) last_key_.emplace(next.key().begin(), next.key().end());
    const auto line = next.ended_line();
    writer.add(line);
    bytes += line.size();
    if (++lines % lines_between_polls == 0) throw_if_cancelled(progress);
  }
  writer.flush();
  return lines;
}

}  // namespace sortcore
