#include "sortcore/io/file_version.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "sortcore/error.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/validation/crc32.hpp"

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

// The CRC-32 of a few pieces of the first `bytes`, from the beginning to the end. Throws Error(io).
std::uint32_t pieces_of(const std::string& path, std::uint64_t bytes) {
  constexpr std::uint64_t pieces = 8, piece_bytes = 4096;
  std::array<std::byte, pieces * piece_bytes> read{};
  const std::uint64_t last = bytes > piece_bytes ? bytes - piece_bytes : 0;
  File file = File::open_to_read(path, File::Caching::buffered);
  for (std::uint64_t number = 0; number < pieces; ++number) {
    const std::uint64_t begin = last * number / (pieces - 1);
    file.read_exactly(read.data() + number * piece_bytes, std::min(bytes - begin, piece_bytes), begin);
  }
  return crc32(read);
}

bool is_alike(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

FileVersion::FileVersion(std::string path, bool may_grow) : path_(std::move(path)), may_grow_(may_grow) {
  if (!look_up(path_, status_)) throw Error::from_errno("open", path_, ENOENT);
  if (may_grow_) pieces_ = pieces_of(path_, static_cast<std::uint64_t>(status_.st_size));
}

void FileVersion::require_unchanged() const {
  struct stat now{};
  if (!look_up(path_, now)) return;
  const bool is_same_file = now.st_dev == status_.st_dev && now.st_ino == status_.st_ino;
  if (is_same_file && now.st_size == status_.st_size && is_alike(last_change(now), last_change(status_)))
    return;
  if (is_same_file && may_grow_ && now.st_size > status_.st_size &&
      pieces_of(path_, static_cast<std::uint64_t>(status_.st_size)) == pieces_)
    return;
  throw Error(ErrorCode::input_changed, path_, path_);
}

void require_unchanged(std::span<const FileVersion> files) {
  for (const FileVersion& file : files) file.require_unchanged();
}

}  // namespace sortcore
