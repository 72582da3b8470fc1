// The lines of one input, one after another, with their keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "keys/text_inputs.hpp"
#include "keys/text_memory.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/keys/line_encoder.hpp"

namespace sortcore {

// Shared memory for the long lines of inputs about which nothing is known.
struct UnforeseenLines {
  const LineLimits& limits;
  std::uint64_t left_bytes;
};

class LineStream {
 public:
  // Takes `buffer_bytes` of memory, and more if a line is longer. With `unforeseen` it takes that memory from
  // there, and throws Error(too_little_memory) if nothing is left.
  LineStream(TextInput input, const KeyOrder& order, std::size_t buffer_bytes, std::uint64_t first_row = 1,
             UnforeseenLines* unforeseen = nullptr);

  // Goes to the next line that is not blank in CSV; false after the last. The previous line becomes invalid.
  // Throws Error(bad_record) with the path and the number of an invalid row of CSV.
  bool next();
  // The line's number, where the first of all has `first_row`.
  std::uint64_t row() const noexcept { return row_ - 1; }
  // Offset of the line in its file; after the last line the end.
  std::uint64_t offset() const noexcept { return read_bytes_ - (end_ - line_begin_); }
  // The line without its end.
  std::span<const std::byte> line() const noexcept { return line_; }
  // The line with its end, for writing.
  std::span<const std::byte> ended_line() const noexcept { return {line_.data(), line_.size() + end_bytes_}; }
  // The first criterion: the encoded keys, or the line if there are none.
  std::span<const std::byte> key() const noexcept { return key_; }
  // Its first eight bytes, with zeros beyond the end.
  std::uint64_t prefix() const noexcept { return prefix_; }

 private:
  bool next_line();
  bool read_on();
  const std::byte* find_end(std::size_t from);
  void end_last_line();
  void encode();
  void take_memory();
  std::uint64_t rest_of_line();
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
  UnforeseenLines* unforeseen_;
  std::uint64_t taken_bytes_ = 0;  // of the memory for long lines
  std::uint64_t read_bytes_;       // up to the end of the buffer's contents
  Buffer buffer_;
  std::size_t begin_ = 0;  // of the bytes not yet returned
  std::size_t end_ = 0;
  std::size_t line_begin_ = 0;
  bool at_end_ = false;
  std::span<const std::byte> line_;
  GrowingBytes encoded_;
  std::span<const std::byte> key_;
  std::uint64_t prefix_ = 0;
};

}  // namespace sortcore
