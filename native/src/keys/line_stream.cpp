#include "keys/line_stream.hpp"

#include <cstring>
#include <utility>

#include "bytes.hpp"

namespace sortcore {

LineStream::LineStream(TextInput input, const KeyOrder& order, std::size_t buffer_bytes)
    : input_(std::move(input)),
      whole_line_(order.is_whole_line()),
      line_end_(order.line_end),
      encoder_(order),
      buffer_(buffer_bytes) {}

bool LineStream::next() {
  std::size_t searched = begin_;
  const std::byte* behind = nullptr;
  while (true) {
    if (searched < end_)
      behind = static_cast<const std::byte*>(
          std::memchr(buffer_.data() + searched, static_cast<int>(line_end_), end_ - searched));
    if (behind != nullptr || at_end_) break;
    searched = end_ - begin_;
    if (!read_on()) break;
  }
  if (begin_ == end_) return false;
  if (behind == nullptr) {
    buffer_.data()[end_] = line_end_;
    behind = buffer_.data() + end_++;
  }
  line_ = {buffer_.data() + begin_, behind};
  begin_ = static_cast<std::size_t>(behind - buffer_.data()) + 1;
  key_ = line_;
  if (!whole_line_) {
    encoded_.clear();
    encoder_.append(line_, encoded_);
    key_ = encoded_.bytes();
  }
  prefix_ = load_big_endian(key_.data(), key_.size());
  return true;
}

// Moves what is left to the front and fills up the buffer, which keeps a byte for a line end that is missing.
bool LineStream::read_on() {
  const std::size_t left = end_ - begin_;
  if (left + 1 >= buffer_.size()) {
    Buffer larger(2 * buffer_.size());
    std::memcpy(larger.data(), buffer_.data() + begin_, left);
    buffer_ = std::move(larger);
  } else if (left != 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, left);
  }
  begin_ = 0;
  end_ = left;
  const std::size_t wanted = buffer_.size() - 1 - end_;
  const std::size_t bytes = input_.read(buffer_.data() + end_, wanted);
  at_end_ = bytes < wanted;
  end_ += bytes;
  return bytes != 0;
}

}  // namespace sortcore
