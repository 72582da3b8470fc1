#include "keys/merge_lines.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "sortcore/lines/line_format.hpp"

namespace sortcore {
namespace {

// The streams that have a line, the next of them in front: a heap, of which mostly the front is replaced.
class StreamHeap {
 public:
  StreamHeap(std::vector<LineStream>& streams, const KeyOrder& order)
      : streams_(streams), order_(order), is_descending_(order.is_whole_line() && order.reversed) {
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].next()) open_.push_back(i);
    }
    for (std::size_t i = open_.size(); i-- > 0;) sink(i);
  }

  bool empty() const noexcept { return open_.empty(); }
  LineStream& front() noexcept { return streams_[open_.front()]; }
  void advance() {
    if (!front().next()) {
      open_.front() = open_.back();
      open_.pop_back();
    }
    if (!open_.empty()) sink(0);
  }

 private:
  bool comes_before(std::size_t a, std::size_t b) const noexcept {
    const LineStream &first = streams_[a], &second = streams_[b];
    if (first.prefix() != second.prefix()) return (first.prefix() < second.prefix()) != is_descending_;
    const int order = compare_lines({first.key(), first.line()}, {second.key(), second.line()}, order_);
    return order != 0 ? order < 0 : a < b;
  }
  void sink(std::size_t at) noexcept {
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

  std::vector<LineStream>& streams_;
  const KeyOrder& order_;
  bool is_descending_;
  std::vector<std::size_t> open_;
};

// Collects lines to blocks.
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

// Whether a key is that of the line before.
class LastKey {
 public:
  bool is(std::span<const std::byte> key) const noexcept {
    return is_set_ && std::ranges::equal(key, std::span<const std::byte>(key_));
  }
  void set(std::span<const std::byte> key) {
    key_.assign(key.begin(), key.end());
    is_set_ = true;
  }

 private:
  bool is_set_ = false;
  std::vector<std::byte> key_;
};

}  // namespace

int compare_lines(const KeyedLine& a, const KeyedLine& b, const KeyOrder& order) noexcept {
  const bool by_keys = !order.is_whole_line();
  const int by_key = by_keys ? compare_bytes(a.key, b.key) : 0;
  if (by_key != 0 || (by_keys && !order.whole_line_last)) return by_key;
  const int by_line = compare_bytes(a.line, b.line);
  return order.reversed ? -by_line : by_line;
}

std::uint64_t merge_lines(std::vector<LineStream>& streams, const KeyOrder& order, const Wanted& wanted,
                          TextOutput& output, const Progress* progress) {
  constexpr std::uint64_t lines_between_polls = 1 << 16;
  StreamHeap heap(streams, order);
  BlockWriter writer(output);
  LastKey last;
  std::uint64_t lines = 0, bytes = 0;
  for (; !heap.empty() && lines < wanted.most_lines; heap.advance()) {
    if (wanted.unique) {
      if (last.is(heap.front().key())) continue;
      last.set(heap.front().key());
    }
    if (bytes >= wanted.most_bytes) break;
    const auto line = heap.front().ended_line();
    writer.add(line);
    bytes += line.size();
    if (++lines % lines_between_polls == 0) throw_if_cancelled(progress);
  }
  writer.flush();
  return lines;
}

}  // namespace sortcore
