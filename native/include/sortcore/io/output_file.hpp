// Outputs that appear under their names complete or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sortcore/io/file.hpp"

namespace sortcore {

// Of a path without one, the current directory: ".".
std::string directory_of(const std::string& path);

// Whether something is mounted on a file, as containers do with single files: it can be written, but not
// replaced.
bool is_mount_point(const std::string& path);

// Where an output is written: outputs that differ only in how they are spelled have equal places. Symbolic
// links are followed, also to where nothing is yet.
struct OutputPlace {
  std::string path;
  std::uint64_t device = 0;  // of the directory
  std::uint64_t inode = 0;   // of the directory; 0 if there is none
  std::string name;
  bool operator==(const OutputPlace& other) const;
};
// Throws Error(io) for links that go in a circle.
OutputPlace place_of(const std::string& path);

// Written without a name in its directory, or where that is impossible under a random one; `commit` syncs it
// and gives it its name. Until then the destructor removes it, and if it has no name, so does the end of the
// process. It has the permissions of what it replaces. Errors name the path the user knows.
class OutputFile {
 public:
  // Throws Error(io), when the directory cannot be written for example.
  OutputFile(std::string path, File::Caching wanted);
  // The same with its size set at once.
  OutputFile(std::string path, std::uint64_t bytes, File::Caching wanted);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  File& file() noexcept { return file_; }
  // From now on `commit` refuses to replace a file: one may appear while the output is written.
  void replace_nothing() noexcept { replaces_ = false; }
  // From now on everything written here is written under `path` too; both appear with `commit`. To be called
  // before `set_size`. Throws Error(io).
  void add_replica(std::string path, File::Caching wanted);
  void write_exactly(const std::byte* bytes, std::size_t size, std::uint64_t offset);
  // As File::keep_to, and all copies of it, too.
  void keep_to(const Disks& disks) noexcept;
  // Its final size; reserves the space. Throws Error(io) when the disk is full.
  void set_size(std::uint64_t bytes);
  std::uint64_t size() const noexcept { return bytes_; }

  // Whether `commit` waits for the disk, or leaves that to the system as most programs do.
  enum class Durability : std::uint8_t { on_disk, of_the_system };

  // Replaces what has the names now, if anything. The data of all outputs and their replicas is on disk
  // before the first gets its name; the names are on disk afterwards. Throws Error: io, bad_input for a file
  // that must not be replaced.
  static void commit(std::span<OutputFile> outputs, Durability durability = Durability::on_disk);
  void commit() { commit({this, 1}); }

 private:
  File create(File::Caching wanted);
  void settle(Durability durability);
  void take_name();
  void remove_partial() noexcept;
  int rename_to_place() const noexcept;
  void sync_directory() const;

  std::string path_;
  OutputPlace place_;
  std::string partial_path_;  // empty while the file has no name, or has its own
  std::uint64_t bytes_ = 0;
  bool replaces_ = true;
  File file_;
  std::vector<OutputFile> replicas_;
};

}  // namespace sortcore
