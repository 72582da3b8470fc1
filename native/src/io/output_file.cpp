#include "sortcore/io/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "sortcore/error.hpp"
#include "sortcore/io/partial_files.hpp"

namespace sortcore {
namespace {

std::string follow_links(const std::string& path) {
  constexpr int most_links = 40;  // as in the system
  std::filesystem::path at(path);
  for (int links = 0; links < most_links; ++links) {
    std::error_code is_no_link;
    const std::filesystem::path to = std::filesystem::read_symlink(at, is_no_link);
    if (is_no_link) return at.string();
    at = at.parent_path() / to;
  }
  throw Error::from_errno("write", path, ELOOP);
}

// Renaming over a device or a pipe would destroy it.
std::string only_a_file(std::string path) {
  struct stat about{};
  const bool exists = ::stat(path.c_str(), &about) == 0;
  if (!exists && errno == ENAMETOOLONG) throw Error::from_errno("write", path, errno);
  if (exists && !S_ISREG(about.st_mode))
    throw Error(ErrorCode::bad_input, path + " is not a regular file; name another output", path);
  if (exists && is_mount_point(path))
    throw Error(ErrorCode::bad_input,
                path + " is a mount point, which no file can replace; name another output", path);
  return path;
}

// Names of those file attributes that a user may copy, each ended by NUL.
std::string attributes_of([[maybe_unused]] const std::string& path) {
  std::string names;
#ifdef __linux__
  const ssize_t bytes = ::listxattr(path.c_str(), nullptr, 0);
  if (bytes <= 0) return names;
  names.resize(static_cast<std::size_t>(bytes));
  const ssize_t listed = ::listxattr(path.c_str(), names.data(), names.size());
  names.resize(listed < 0 ? 0 : static_cast<std::size_t>(listed));
#endif
  return names;
}

// Attributes that a file system or the system refuses are left out.
void copy_attributes([[maybe_unused]] const std::string& from, [[maybe_unused]] const File& to) {
#ifdef __linux__
  const std::string names = attributes_of(from);
  for (std::size_t at = 0; at < names.size(); at = names.find('\0', at) + 1) {
    const std::string name = names.c_str() + at;
    if (!name.starts_with("user.") && name != "system.posix_acl_access") continue;
    const ssize_t bytes = ::getxattr(from.c_str(), name.c_str(), nullptr, 0);
    std::string value(bytes < 0 ? 0 : static_cast<std::size_t>(bytes), '\0');
    if (bytes < 0 || ::getxattr(from.c_str(), name.c_str(), value.data(), value.size()) != bytes) continue;
    static_cast<void>(::fsetxattr(to.descriptor(), name.c_str(), value.data(), value.size(), 0));
  }
#endif
}

// Copies owner, permissions and attributes; only the superuser may give files away.
void take_after(const struct stat& replaced, const std::string& path, File& file) {
  constexpr unsigned permissions = 0777;
  [[maybe_unused]] const int refused = ::fchown(file.descriptor(), replaced.st_uid, replaced.st_gid);
  file.set_mode(replaced.st_mode & permissions);
  copy_attributes(path, file);
}

}  // namespace

bool is_mount_point([[maybe_unused]] const std::string& path) {
#ifdef STATX_ATTR_MOUNT_ROOT
  struct statx about{};
  return ::statx(AT_FDCWD, path.c_str(), 0, 0, &about) == 0 &&
         (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
#else
  return false;
#endif
}

std::string directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

bool OutputPlace::operator==(const OutputPlace& other) const {
  if (inode == 0 || other.inode == 0) return path == other.path;
  return device == other.device && inode == other.inode && name == other.name;
}

OutputPlace place_of(const std::string& path) {
  OutputPlace place;
  place.path = follow_links(path);
  place.name = std::filesystem::path(place.path).filename().string();
  struct stat about{};
  if (::stat(directory_of(place.path).c_str(), &about) != 0) return place;
  place.device = about.st_dev;
  place.inode = about.st_ino;
  return place;
}

OutputFile::OutputFile(std::string path, File::Caching wanted)
    : path_(only_a_file(std::move(path))), place_(place_of(path_)), file_(create(wanted)) {}

OutputFile::OutputFile(std::string path, std::uint64_t bytes, File::Caching wanted)
    : OutputFile(std::move(path), wanted) {
  set_size(bytes);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      place_(std::move(other.place_)),
      partial_path_(std::exchange(other.partial_path_, {})),
      bytes_(other.bytes_),
      replaces_(other.replaces_),
      file_(std::move(other.file_)),
      replicas_(std::move(other.replicas_)) {}

OutputFile::~OutputFile() { remove_partial(); }

void OutputFile::remove_partial() noexcept {
  if (partial_path_.empty()) return;
  ::unlink(partial_path_.c_str());
  forget_partial(partial_path_);
  partial_path_.clear();
}

// No other user may read a replacement before it has the old file's permissions.
File OutputFile::create(File::Caching wanted) {
  constexpr unsigned for_the_owner = 0600, for_whom_the_mask_allows = 0666;
  const std::string directory = directory_of(place_.path);
  struct stat replaced{};
  const bool replaces = ::stat(place_.path.c_str(), &replaced) == 0;
  const unsigned mode = replaces ? for_the_owner : for_whom_the_mask_allows;
  std::optional<File> file = File::create_unnamed(directory, wanted, path_, mode);
  if (!file) {
    const std::string partial_path = directory + "/.sortcore-" + random_name() + ".partial";
    note_partial(partial_path);
    file = File::create(partial_path, wanted, path_, mode);
    partial_path_ = partial_path;
  }
  if (replaces) take_after(replaced, place_.path, *file);
  return std::move(*file);
}

void OutputFile::add_replica(std::string path, File::Caching wanted) {
  replicas_.emplace_back(std::move(path), wanted);
}

void OutputFile::write_exactly(const std::byte* bytes, std::size_t size, std::uint64_t offset) {
  file_.write_exactly(bytes, size, offset);
  for (OutputFile& replica : replicas_) replica.write_exactly(bytes, size, offset);
}

void OutputFile::keep_to(const Disks& disks) noexcept {
  file_.keep_to(disks);
  for (OutputFile& replica : replicas_) replica.keep_to(disks);
}

void OutputFile::set_size(std::uint64_t bytes) {
  bytes_ = bytes;
  file_.preallocate(0, bytes);
  for (OutputFile& replica : replicas_) replica.set_size(bytes);
}

void OutputFile::commit(std::span<OutputFile> outputs, Durability durability) {
  for (OutputFile& output : outputs) output.settle(durability);
  for (OutputFile& output : outputs) output.take_name();
  if (durability == Durability::of_the_system) return;
  for (const OutputFile& output : outputs) output.sync_directory();
}

void OutputFile::settle(Durability durability) {
  for (OutputFile& replica : replicas_) replica.settle(durability);
  file_.set_size(bytes_);
  if (durability == Durability::on_disk) file_.sync();
}

void OutputFile::take_name() {
  for (OutputFile& replica : replicas_) replica.take_name();
  if (partial_path_.empty()) {
    const std::string partial_path = directory_of(place_.path) + "/.sortcore-" + random_name() + ".partial";
    note_partial(partial_path);
    file_.link(partial_path);
    partial_path_ = partial_path;
  }
  file_.close();
  const int failure = rename_to_place();
  if (failure != 0) remove_partial();
  if (failure == EEXIST)
    throw Error(ErrorCode::bad_input,
                path_ + " appeared during the sort: name a new file, or replace it with --force", path_);
  if (failure != 0) throw Error::from_errno("rename to", path_, failure);
  forget_partial(partial_path_);
  partial_path_.clear();
}

// Returns 0, or the system's error number.
int OutputFile::rename_to_place() const noexcept {
  const char *const from = partial_path_.c_str(), *const to = place_.path.c_str();
#ifdef RENAME_NOREPLACE
  if (!replaces_) {
    if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;  // unknown to the file system
  }
#endif
  if (!replaces_ && ::access(to, F_OK) == 0) return EEXIST;
  return std::rename(from, to) == 0 ? 0 : errno;
}

// Some file systems cannot sync a directory, and some directories cannot be read; the data itself is safe by
// then.
void OutputFile::sync_directory() const {
  for (const OutputFile& replica : replicas_) replica.sync_directory();
  const int fd = ::open(directory_of(place_.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  const int failure = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (failure != 0 && failure != EINVAL && failure != EROFS && failure != ENOTSUP)
    throw Error::from_errno("sync the directory of the finished", path_, failure);
}

}  // namespace sortcore
