// Files and pipes that are read from their beginning to their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "keys/run_file.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/keys/key_order.hpp"
#include "sortcore/keys/sort_text.hpp"

namespace sortcore {

// Nothing for anything but a regular file: a pipe must not be opened twice.
std::optional<std::uint64_t> regular_bytes(const std::string& path);
// Total size, with an end for every last line.
std::optional<std::uint64_t> total_bytes(const std::vector<TextSource>& sources);

// A descriptor open for reading; standard input's is not closed. Errors are Error(io) with the path.
class TextInput {
 public:
  // "-" is standard input, which is read from its current position.
  explicit TextInput(const TextSource& source);
  // A scratch file, from its beginning.
  explicit TextInput(const File& scratch);
  // A run that is packed.
  explicit TextInput(std::unique_ptr<RunFile> run);
  TextInput(TextInput&& other) noexcept;
  TextInput& operator=(TextInput&&) = delete;
  ~TextInput();

  // Reads up to `most` bytes; fewer only at the end.
  std::size_t read(std::byte* into, std::size_t most, unsigned threads = 1);
  // The rest of a regular file.
  std::optional<std::uint64_t> size_left() const;
  const std::string& path() const noexcept { return path_; }
  // The position where reading began.
  std::uint64_t first_byte() const noexcept { return first_byte_; }

 private:
  std::size_t read_some(std::byte* into, std::size_t most);
  void require_whole() const;
  void read_at(std::byte* into, std::size_t bytes, std::uint64_t offset) const;

  std::string path_;
  std::uint64_t first_byte_ = 0;
  std::uint64_t left_bytes_ = UINT64_MAX;  // of a part of a file
  std::uint64_t first_size_ = 0;           // of a regular file when it was opened; 0 in /proc
  std::unique_ptr<RunFile> run_;
  int descriptor_ = -1;
};

// Throws Error(bad_record) for an input that ends `bytes` into a record.
[[noreturn]] void fail_in_record(const std::string& path, std::uint64_t bytes, std::uint64_t record_bytes);

// Inputs one after another as one text: a missing last line end is added. Throws Error(bad_record) for a
// quoted field of CSV without an end, and for half a record.
class JoinedInputs {
 public:
  JoinedInputs(std::vector<TextSource> sources, const KeyOrder& order);

  // Fills `into` unless the inputs end; needs room for one byte more than `most`.
  std::size_t read(std::byte* into, std::size_t most, unsigned threads);
  // The input of a byte of the joined text, and its offset there.
  TextSource place_of(std::uint64_t offset) const;
  bool at_end() const noexcept { return next_ == sources_.size() && !open_; }

 private:
  void watch_quotes(std::span<const std::byte> bytes);
  std::size_t end_last_line(std::byte* to);

  std::vector<TextSource> sources_;
  std::byte line_end_;
  std::optional<CsvFormat> csv_;
  std::uint64_t record_bytes_;
  std::uint64_t input_bytes_ = 0;  // read of the input that is open
  bool is_within_quotes_ = false;
  std::vector<std::uint64_t> begins_;  // of the opened inputs, in the joined text
  std::uint64_t joined_bytes_ = 0;     // read
  std::size_t next_ = 0;
  std::optional<TextInput> open_;
  std::byte last_;
};

}  // namespace sortcore
