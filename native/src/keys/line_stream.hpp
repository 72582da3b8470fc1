// The lines of one input, one after another, with their keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "keys/text_inputs.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/keys/line_encoder.hpp"

namespace sortcore {

class LineStream {
 public:
  // Takes `buffer_bytes` of memory, and more if a line is longer.
  LineStream(TextInput input, const KeyOrder& order, std::size_t buffer_bytes, std::uint64_t first_row = 1);

  // Goes to the next line; false behind the last. What was there before is gone. Throws Error(bad_record)
  // with the path and the number of a row of CSV that is not as it must be.
  bool next();
  // Without its end.
  std::span<const std::byte> line() const noexcept { return line_; }
  // The line with an end behind it, to be written.
  std::span<const std::byte> ended_line() const noexcept { return {line_.data(), line_.size() + end_bytes_}; }
  // What decides first: the encoded keys, or the line if there are none.
  std::span<const std::byte> key() const noexcept { return key_; }
  // Its first eight bytes, with zeros beyond the end.
  std::uint64_t prefix() const noexcept { return prefix_; }

 private:
  bool read_on();
  const std::byte* find_end(std::size_t from);
  void end_last_line();
  void encode();
  [[noreturn]] void fail(const std::string& why) const;

  TextInput input_;
  std::optional<CsvFormat> csv_;
  bool is_within_quotes_ = false;
  std::uint64_t row_;  // the next
  bool whole_line_;
  std::byte line_end_;
  std::uint64_t record_bytes_;
  std::uint64_t end_bytes_;
  LineEncoder encoder_;
  Buffer buffer_;
  std::size_t begin_ = 0;  // of what was not yet returned
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::span<const std::byte> line_;
  GrowingBytes encoded_;
  std::span<const std::byte> key_;
  std::uint64_t prefix_ = 0;
};

}  // namespace sortcore
