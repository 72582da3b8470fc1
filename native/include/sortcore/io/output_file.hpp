// Outputs that appear under their names complete or not at all.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sortcore/io/file.hpp"

namespace sortcore {

// The directory of a path; the current one, ".", if the path names none.
std::string directory_of(const std::string& path);

// True if something is mounted on a file, as containers do with single files: it can be written, but not
// replaced.
bool is_mount_point(const std::string& path);

// The place of an output: outputs that differ only in spelling have equal places. Symbolic links are
// followed, even to missing targets.
struct OutputPlace {
  std::string path;
  std::uint64_t device = 0;  // of the directory
  std::uint64_t inode = 0;   // of the directory; 0 if there is none
  std::string name;
  bool operator==(const OutputPlace& other) const;
};
// Throws Error(io) for circular links.
OutputPlace place_of(const std::string& path);

// Written without a name in its directory, or if that is impossible under a random one; `commit` syncs it and
// gives it its name. Until then the destructor removes it, and if it has no name, so does the end of the
// process. It has the permissions of the file it replaces. Errors name the path that the user knows.
class OutputFile {
 public:
  // Throws Error(io), for example when the directory cannot be written.
  OutputFile(std::string path, File::Caching wanted);
  // The same with its size set immediately.
  OutputFile(std::string path, std::uint64_t bytes, File::Caching wanted);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  File& file() noexcept { return file_; }
  // From now on `commit` refuses to replace a file: one may appear while the output is written.
  void replace_nothing() noexcept { replaces_ = false; }
  // From now on everything written here is written under `path` too; both appear with `commit`. Call it
  // before `set_size`. Throws Error(io).
  void add_replica(std::string path, File::Caching wanted);
  void write_exactly(const std::byte* bytes, std::size_t size, std::uint64_t offset);
  // As File::keep_to, for all copies, too.
  void keep_to(const Disks& disks) noexcept;
  // Sets its final size and reserves the space. Throws Error(io) when the disk is full.
  void set_size(std::uint64_t bytes);
  std::uint64_t size() const noexcept { return bytes_; }

  // The choice of `commit` to wait for the disk, or to leave that to the system as most programs do.
  enum class Durability : std::uint8_t { on_disk, of_the_system };

  // Replaces existing files of the names. The data of all outputs and their replicas is on disk before the
  // first gets its name; the names are on disk afterwards. Throws Error: io, bad_input for a file that must
  // not be replaced.
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
  std::string partial_path_;  // empty while the file has no name, or its final one
  std::uint64_t bytes_ = 0;
  bool replaces_ = true;
  File file_;
  std::vector<OutputFile> replicas_;
};

}  // namespace sortcore
