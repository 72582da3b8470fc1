// The output of a text sort: a new file, which appears whole or not at all, an open descriptor, or anything
// but a regular file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "keys/overwritten_file.hpp"
#include "keys/run_file.hpp"
#include "sortcore/io/output_file.hpp"
#include "sortcore/progress.hpp"

namespace sortcore {

class TextOutput {
 public:
  using Gather = std::function<void(std::uint64_t from, std::span<std::byte> out)>;

  // Empty: standard output. A large new file that is to be on disk in the end bypasses the page cache, whose
  // copy would otherwise cause a wait. `scratch_directory` is for a file that must be overwritten. An
  // existing file stays unless this `replaces` it. Throws Error(io).
  TextOutput(const std::string& path, OutputFile::Durability durability, const std::string& scratch_directory,
             bool replaces = true);
  // A scratch file, which must outlive this, from `place` on.
  TextOutput(const File& scratch, const std::string& directory, std::uint64_t place = 0);
  // A packed run, likewise.
  explicit TextOutput(RunFile& run) : run_(&run), name_(run.path()) {}
  ~TextOutput();
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  // Writes `bytes` that threads gather at any place, in the order of their places unless the output accepts
  // any order.
  void write(std::uint64_t bytes, unsigned threads, const Gather& gather, const Progress* progress);
  // Appends bytes.
  void append(std::span<const std::byte> bytes);
  // End of a file that is written at any place.
  std::uint64_t end() const { return place_.value(); }
  // From now on the system begins to write data to the disk early, so that a sync waits for little.
  void write_early() noexcept { writes_early_ = true; }
  // From now on written bytes are counted.
  void count_in(Progress* progress) noexcept { counted_ = progress; }
  // To be called last: a file gets its name.
  void finish();

 private:
  void write_past_cache(std::uint64_t bytes, unsigned threads, const Gather& gather,
                        const Progress* progress);
  void write_through_cache(std::uint64_t bytes, unsigned threads, const Gather& gather,
                           const Progress* progress);
  void write_at(std::span<const std::byte> bytes, std::uint64_t offset) const;
  void write_next(std::span<const std::byte> bytes) const;
  [[noreturn]] void fail(int reason) const;
  void find_place();
  bool is_new_file(const std::string& path);
  void open_as_it_is(const std::string& path, const std::string& scratch_directory);

  OutputFile::Durability durability_ = OutputFile::Durability::of_the_system;
  RunFile* run_ = nullptr;
  std::optional<OutputFile> file_;
  std::optional<OverwrittenFile> overwritten_;
  int descriptor_ = -1;
  bool owned_ = false;
  bool writes_early_ = false;
  std::string name_;
  Progress* counted_ = nullptr;
  std::optional<std::uint64_t> place_;  // in a file that is written at any place
};

}  // namespace sortcore
