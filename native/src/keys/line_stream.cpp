#include "keys/line_stream.hpp"

#include <cstring>
#include <utility>

#include "bytes.hpp"
#include "lines/quoted_lines.hpp"
#include "sortcore/error.hpp"

namespace sortcore {

LineStream::LineStream(TextInput input, const KeyOrder& order, std::size_t buffer_bytes,
                       std::uint64_t first_row, UnforeseenLines* unforeseen)
    : input_(std::move(input)),
      csv_(order.csv),
      row_(first_row),
      whole_line_(order.is_whole_line()),
      line_end_(order.line_end),
      record_bytes_(order.record_bytes),
      end_bytes_(order.end_bytes()),
      encoder_(order),
      unforeseen_(unforeseen),
      read_bytes_(input_.first_byte()),
      buffer_(buffer_bytes) {}

bool LineStream::next() {
  while (next_line()) {
    if (csv_ && csv_->is_blank(line_)) continue;
    key_ = line_;
    if (!whole_line_) encode();
    prefix_ = load_big_endian(key_.data(), key_.size());
    return true;
  }
  return false;
}

bool LineStream::next_line() {
  std::size_t searched = begin_;
  const std::byte* behind = nullptr;
  while (true) {
    if (searched < end_) behind = find_end(searched);
    if (behind != nullptr || at_end_) break;
    searched = end_ - begin_;
    if (!read_on()) break;
  }
  line_begin_ = begin_;
  if (begin_ == end_) return false;
  ++row_;
  if (behind == nullptr) {
    end_last_line();
    behind = buffer_.data() + end_ - end_bytes_;
  }
  line_ = {buffer_.data() + begin_, behind};
  begin_ = static_cast<std::size_t>(behind - buffer_.data()) + end_bytes_;
  return true;
}

const std::byte* LineStream::find_end(std::size_t from) {
  const std::byte* const at = buffer_.data() + from;
  if (record_bytes_ != 0)
    return end_ - begin_ < record_bytes_ ? nullptr : buffer_.data() + begin_ + record_bytes_;
  if (csv_) return find_quoted_end(at, buffer_.data() + end_, csv_->quote, is_within_quotes_);
  return static_cast<const std::byte*>(std::memchr(at, static_cast<int>(line_end_), end_ - from));
}

void LineStream::end_last_line() {
  if (record_bytes_ != 0) fail_in_record(input_.path(), end_ - begin_, record_bytes_);
  if (is_within_quotes_) fail("a quoted field has no end");
  if (csv_ && csv_->ends_with_crlf && buffer_.data()[end_ - 1] != std::byte{'\r'})
    buffer_.data()[end_++] = std::byte{'\r'};
  buffer_.data()[end_++] = line_end_;
}

void LineStream::encode() {
  encoded_.clear();
  try {
    encoder_.append(line_, encoded_);
  } catch (const Error& error) {
    fail(error.what());
  }
  key_ = encoded_.bytes();
}

void LineStream::fail(const std::string& why) const {
  throw Error(ErrorCode::bad_record, input_.path() + ": row " + std::to_string(row()) + ": " + why);
}

// Moves the rest to the front and fills up the buffer, which reserves two bytes for a missing line end.
bool LineStream::read_on() {
  const std::size_t left = end_ - begin_;
  if (left + 2 >= buffer_.size()) {
    if (unforeseen_ != nullptr) take_memory();
    buffer_.grow(buffer_.size() + buffer_.size() / 4);
  }
  if (left != 0 && begin_ != 0) std::memmove(buffer_.data(), buffer_.data() + begin_, left);
  begin_ = 0;
  end_ = left;
  const std::size_t wanted = buffer_.size() - 2 - end_;
  const std::size_t bytes = input_.read(buffer_.data() + end_, wanted);
  at_end_ = bytes < wanted;
  end_ += bytes;
  read_bytes_ += bytes;
  return bytes != 0;
}

// Before the buffer grows: as if all of it was one line with keys no longer than itself.
void LineStream::take_memory() {
  const auto bytes_for = [this](std::uint64_t bytes) {
    return unforeseen_->limits.merge_bytes(unforeseen_->limits.unread(0, bytes));
  };
  const std::uint64_t wanted = bytes_for(buffer_.size()) - taken_bytes_;
  if (wanted > unforeseen_->left_bytes) {
    const std::uint64_t offset = read_bytes_ - (end_ - begin_), bytes = rest_of_line();
    const std::uint64_t others = unforeseen_->limits.most_unforeseen_bytes() - unforeseen_->left_bytes;
    unforeseen_->limits.refuse(input_.path(), {offset, bytes, 0},
                               unforeseen_->limits.needed_for_unforeseen(others + bytes_for(bytes)));
  }
  unforeseen_->left_bytes -= wanted;
  taken_bytes_ += wanted;
}

// Reads on to the end of the line that fills the buffer, without keeping it.
std::uint64_t LineStream::rest_of_line() {
  if (record_bytes_ != 0) return record_bytes_;
  std::uint64_t bytes = end_ - begin_;
  begin_ = 0;
  const std::byte* behind = nullptr;
  while (behind == nullptr) {
    end_ = input_.read(buffer_.data(), buffer_.size());
    if (end_ == 0) return bytes;
    behind = find_end(0);
    bytes += behind == nullptr ? end_ : static_cast<std::uint64_t>(behind - buffer_.data());
  }
  return bytes;
}

}  // namespace sortcore
