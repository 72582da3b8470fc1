#include "sortcore/io/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "sortcore/error.hpp"

namespace sortcore {

std::string directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

namespace {

std::string partial_name(const std::string& path) {
  static std::atomic<unsigned> number{0};
  const std::string name = std::filesystem::path(path).filename().string();
  return directory_of(path) + "/." + name + "." + std::to_string(::getpid()) + "-" +
         std::to_string(number++) + ".partial";
}

// Taking the name of a device or a pipe from it would destroy it.
std::string only_a_file(std::string path) {
  std::error_code unreadable;
  const auto status = std::filesystem::status(path, unreadable);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw Error(ErrorCode::bad_input, path + " is not a regular file; name another output", path);
  return path;
}

// Some file systems cannot sync a directory; the data itself is safe by then.
void sync_directory(const std::string& directory) noexcept {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);
  ::close(fd);
}

}  // namespace

OutputFile::OutputFile(std::string path, File::Caching wanted)
    : path_(only_a_file(std::move(path))),
      partial_path_(partial_name(path_)),
      file_(File::create(partial_path_, wanted, path_)) {}

OutputFile::OutputFile(std::string path, std::uint64_t bytes, File::Caching wanted)
    : OutputFile(std::move(path), wanted) {
  set_size(bytes);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      partial_path_(std::exchange(other.partial_path_, {})),
      bytes_(other.bytes_),
      file_(std::move(other.file_)),
      replicas_(std::move(other.replicas_)) {}

OutputFile::~OutputFile() {
  if (!partial_path_.empty()) ::unlink(partial_path_.c_str());
}

void OutputFile::add_replica(std::string path, File::Caching wanted) {
  replicas_.emplace_back(std::move(path), wanted);
}

void OutputFile::write_exactly(const std::byte* bytes, std::size_t size, std::uint64_t offset) {
  file_.write_exactly(bytes, size, offset);
  for (OutputFile& replica : replicas_) replica.write_exactly(bytes, size, offset);
}

void OutputFile::set_size(std::uint64_t bytes) {
  bytes_ = bytes;
  file_.preallocate(0, bytes);
  for (OutputFile& replica : replicas_) replica.set_size(bytes);
}

void OutputFile::commit() {
  for (OutputFile& replica : replicas_) replica.commit();
  file_.set_size(bytes_);
  file_.sync();
  file_.close();
  if (std::rename(partial_path_.c_str(), path_.c_str()) != 0)
    throw Error::from_errno("rename to", path_, errno);
  partial_path_.clear();
  sync_directory(directory_of(path_));
}

}  // namespace sortcore
