#include "sortcore/io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iomanip>
#include <random>
#include <sstream>
#include <utility>

#include "sortcore/error.hpp"

namespace sortcore {
namespace {

#ifdef O_DIRECT
constexpr int direct_flag = O_DIRECT;
#else
constexpr int direct_flag = 0;  // macOS: planning only; the buffered path is enough
#endif

template <typename Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace

File::File(int descriptor, std::string path, bool direct) noexcept
    : descriptor_(descriptor), path_(std::move(path)), direct_(direct) {}

File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      path_(std::move(other.path_)),
      disk_(other.disk_),
      direct_(other.direct_.load()) {}

File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(disk_, other.disk_);
  direct_ = other.direct_.exchange(direct_);
  return *this;
}

File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Nothing on failure, with errno set.
std::optional<File> File::open(const std::string& path, int flags, Caching wanted,
                               const std::string& shown_as, unsigned mode) {
  if (wanted == Caching::direct && direct_flag != 0) {
    const int fd =
        retry_interrupted([&] { return ::open(path.c_str(), flags | direct_flag | O_CLOEXEC, mode); });
    if (fd >= 0) return File(fd, shown_as, true);
    if (errno != EINVAL) return std::nullopt;
    // Some file systems create the file before they refuse O_DIRECT. It did not exist before: O_EXCL.
    if ((flags & O_EXCL) != 0) ::unlink(path.c_str());
  }
  const int fd = retry_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, mode); });
  if (fd < 0) return std::nullopt;
  return File(fd, shown_as, false);
}

File File::open_to_read(const std::string& path, Caching wanted) {
  // O_NONBLOCK: a named pipe without a writer would hang the open; it has no effect on regular files.
  std::optional<File> file = open(path, O_RDONLY | O_NONBLOCK, wanted, path);
  if (!file) throw Error::from_errno("open", path, errno);
  struct stat about{};
  if (::fstat(file->descriptor_, &about) != 0) throw Error::from_errno("examine", path, errno);
  if (!S_ISREG(about.st_mode)) throw Error(ErrorCode::bad_input, path + " is not a regular file", path);
  return std::move(*file);
}

File File::open_to_overwrite(const std::string& path) {
  std::optional<File> file = open(path, O_WRONLY, Caching::buffered, path);
  if (!file) throw Error::from_errno("open", path, errno);
  return std::move(*file);
}

File File::create(const std::string& path, Caching wanted, const std::string& shown_as, unsigned mode) {
  std::optional<File> file = open(path, O_RDWR | O_CREAT | O_EXCL, wanted, shown_as, mode);
  if (!file) throw Error::from_errno("open", shown_as, errno);
  return std::move(*file);
}

std::optional<File> File::create_unnamed(const std::string& directory, Caching wanted,
                                         const std::string& shown_as, unsigned mode) {
#ifdef O_TMPFILE
  if (::access("/proc/self/fd", X_OK) != 0) return std::nullopt;
  std::optional<File> file = open(directory, O_RDWR | O_TMPFILE, wanted, shown_as, mode);
  // Old kernels and some file systems do not support this; they report it in three ways.
  if (!file && errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
    throw Error::from_errno("open", shown_as, errno);
  return file;
#else
  return std::nullopt;
#endif
}

void File::link(const std::string& path) {
  const std::string unnamed = "/proc/self/fd/" + std::to_string(descriptor_);
  if (::linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) != 0)
    throw Error::from_errno("name", path_, errno);
}

void File::set_mode(unsigned mode) {
  if (::fchmod(descriptor_, mode) != 0) throw Error::from_errno("set the permissions of", path_, errno);
}

std::uint64_t File::size() const {
  struct stat about{};
  if (::fstat(descriptor_, &about) != 0) throw Error::from_errno("examine", path_, errno);
  return static_cast<std::uint64_t>(about.st_size);
}

void File::read_exactly(std::byte* into, std::size_t bytes, std::uint64_t offset) {
  const Disk::Slot slot(disk_, Disk::Transfer::read);
  std::size_t done = 0;
  while (done < bytes) {
    const bool direct = is_direct();
    const std::size_t asked = length_to_ask(bytes - done, direct);
    const ssize_t got = ::pread(descriptor_, into + done, asked, static_cast<off_t>(offset + done));
    const auto at = static_cast<std::int64_t>(offset + done);
    if (got < 0 && errno != EINTR && !(direct && errno == EINVAL && leave_direct()))
      throw Error::from_errno("read", path_, errno, at);
    if (got == 0) {
      throw Error(ErrorCode::io,
                  "read " + path_ + " at byte " + std::to_string(at) +
                      ": the file ends here, but was longer when the sort began; it shrank while being read",
                  path_, at);
    }
    if (got > 0)
      done += std::min(usable_part(static_cast<std::size_t>(got), bytes - done, direct), bytes - done);
  }
}

void File::write_exactly(const std::byte* from, std::size_t bytes, std::uint64_t offset) {
  const Disk::Slot slot(disk_, Disk::Transfer::write);
  std::size_t done = 0;
  while (done < bytes) {
    const bool direct = is_direct();
    const std::size_t asked = length_to_ask(bytes - done, direct);
    const ssize_t put = ::pwrite(descriptor_, from + done, asked, static_cast<off_t>(offset + done));
    const auto at = static_cast<std::int64_t>(offset + done);
    if (put < 0 && errno != EINTR && !(direct && errno == EINVAL && leave_direct()))
      throw Error::from_errno("write", path_, errno, at);
    if (put == 0) throw Error::from_errno("write", path_, EIO, at);
    if (put > 0)
      done += std::min(usable_part(static_cast<std::size_t>(put), bytes - done, direct), bytes - done);
  }
}

bool File::preallocate(std::uint64_t offset, std::uint64_t bytes) {
#ifdef __linux__
  if (bytes == 0) return true;
  const auto call = [&] {
    return ::fallocate(descriptor_, 0, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  };
  if (retry_interrupted(call) == 0) return true;
  if (errno == EOPNOTSUPP || errno == ENOSYS) return false;
  throw Error::from_errno("reserve " + std::to_string(bytes) + " bytes for", path_, errno,
                          static_cast<std::int64_t>(offset));
#else
  static_cast<void>(offset);
  static_cast<void>(bytes);
  return false;
#endif
}

void File::set_size(std::uint64_t bytes) {
  const auto call = [&] { return ::ftruncate(descriptor_, static_cast<off_t>(bytes)); };
  if (retry_interrupted(call) != 0) throw Error::from_errno("set the size of", path_, errno);
}

void File::free_space(std::uint64_t offset, std::uint64_t bytes) {
  if (bytes == 0) return;
#ifdef __linux__
  const auto call = [&] {
    return ::fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                       static_cast<off_t>(bytes));
  };
  if (retry_interrupted(call) == 0) return;
  const int reason = errno;
#else
  const int reason = EOPNOTSUPP;
#endif
  throw Error::from_errno("free space of", path_, reason, static_cast<std::int64_t>(offset));
}

void File::sync() {
  if (retry_interrupted([&] { return ::fsync(descriptor_); }) != 0)
    throw Error::from_errno("sync", path_, errno);
}

void File::close() {
  const int descriptor = std::exchange(descriptor_, -1);
  // After EINTR the descriptor is closed all the same; a second close could hit another thread's file.
  if (descriptor >= 0 && ::close(descriptor) != 0 && errno != EINTR)
    throw Error::from_errno("close", path_, errno);
}

void File::go_direct() noexcept {
  const int flags = ::fcntl(descriptor_, F_GETFL);
  if (direct_flag != 0 && flags >= 0 && ::fcntl(descriptor_, F_SETFL, flags | direct_flag) == 0)
    direct_.store(true, std::memory_order_relaxed);
}

// A file system may accept O_DIRECT at open and refuse a transfer (a larger sector, an encrypted file).
bool File::leave_direct() noexcept {
  const int flags = ::fcntl(descriptor_, F_GETFL);
  if (flags < 0 || ::fcntl(descriptor_, F_SETFL, flags & ~direct_flag) != 0) return false;
  direct_.store(false, std::memory_order_relaxed);
  return true;
}

std::size_t File::length_to_ask(std::size_t bytes, bool direct) noexcept {
  return direct ? round_up_to_pages(bytes) : bytes;
}

// After a short direct transfer the next one must begin on a page again, so a part of a page is repeated.
std::size_t File::usable_part(std::size_t transferred, std::size_t wanted, bool direct) noexcept {
  if (!direct || transferred >= wanted) return transferred;
  const std::size_t whole = transferred / page_bytes * page_bytes;
  if (whole == 0) leave_direct();
  return whole;
}

std::string random_name() {
  std::random_device device;
  std::ostringstream name;
  for (int i = 0; i < 4; ++i) name << std::hex << std::setw(8) << std::setfill('0') << device();
  return name.str();
}

}  // namespace sortcore
