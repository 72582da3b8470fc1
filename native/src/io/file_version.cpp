#include "sortcore/io/file_version.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "sortcore/error.hpp"

namespace sortcore {
namespace {

// NFS asks its server when a file is opened. Returns false if there is no file.
bool look_up(const std::string& path, struct stat& status) {
  if (const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); fd >= 0) ::close(fd);
  if (::stat(path.c_str(), &status) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  throw Error::from_errno("examine", path, errno);
}

// Every write moves this time, which no program can set back.
timespec last_change(const struct stat& status) {
#ifdef __APPLE__
  return status.st_ctimespec;
#else
  return status.st_ctim;
#endif
}

bool is_alike(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

FileVersion::FileVersion(std::string path) : path_(std::move(path)) {
  if (!look_up(path_, status_)) throw Error::from_errno("open", path_, ENOENT);
}

void FileVersion::require_unchanged() const {
  struct stat now{};
  if (!look_up(path_, now)) return;
  const bool is_same_file = now.st_dev == status_.st_dev && now.st_ino == status_.st_ino;
  if (!is_same_file || now.st_size != status_.st_size || !is_alike(last_change(now), last_change(status_)))
    throw Error(ErrorCode::input_changed, path_, path_);
}

void require_unchanged(std::span<const FileVersion> files) {
  for (const FileVersion& file : files) file.require_unchanged();
}

}  // namespace sortcore
