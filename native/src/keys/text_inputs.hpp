// Files and pipes that are read from their beginning to their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sortcore/io/file.hpp"

namespace sortcore {

// A descriptor open for reading; that of standard input is not closed. Errors are Error(io) with the path.
class TextInput {
 public:
  // "-" is standard input.
  explicit TextInput(const std::string& path);
  // A scratch file, from its beginning.
  explicit TextInput(const File& scratch);
  TextInput(TextInput&& other) noexcept;
  TextInput& operator=(TextInput&&) = delete;
  ~TextInput();

  // As many bytes as there are, up to `most`; fewer at the end only.
  std::size_t read(std::byte* into, std::size_t most, unsigned threads = 1);
  // What is left of a regular file.
  std::optional<std::uint64_t> size_left() const;
  const std::string& path() const noexcept { return path_; }

 private:
  std::size_t read_some(std::byte* into, std::size_t most);
  void read_at(std::byte* into, std::size_t bytes, std::uint64_t offset) const;

  std::string path_;
  int descriptor_ = -1;
};

// Inputs one after another as one text: what lacks its last line's end gets it.
class JoinedInputs {
 public:
  JoinedInputs(std::vector<std::string> paths, std::byte line_end);

  // Fills `into` unless the inputs end; needs room for one byte more than `most`.
  std::size_t read(std::byte* into, std::size_t most, unsigned threads);
  bool at_end() const noexcept { return next_ == paths_.size() && !open_; }

 private:
  std::vector<std::string> paths_;
  std::byte line_end_;
  std::size_t next_ = 0;
  std::optional<TextInput> open_;
  std::byte last_;
};

}  // namespace sortcore
