#include "keys/overwritten_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "sortcore/buffer.hpp"
#include "sortcore/error.hpp"
#include "sortcore/io/partial_files.hpp"

namespace sortcore {
namespace {

// Allocates the missing blocks of a file without changing its contents. Returns 0, or the system's error
// number.
int allocate([[maybe_unused]] int descriptor, [[maybe_unused]] std::uint64_t bytes) {
#ifdef __linux__
  while (::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) != 0)
    if (errno != EINTR) return errno;
  return 0;
#else
  return EOPNOTSUPP;
#endif
}

// If the system does not report it, there is room.
bool has_free_space(int descriptor, std::uint64_t bytes) {
  constexpr std::uint64_t block_bytes = 512;  // of st_blocks, whatever the file system
  struct stat file{};
  struct statvfs system{};
  if (::fstat(descriptor, &file) != 0 || ::fstatvfs(descriptor, &system) != 0) return true;
  const std::uint64_t held = static_cast<std::uint64_t>(file.st_blocks) * block_bytes;
  return bytes <= held || (bytes - held) / system.f_frsize < system.f_bavail;
}

}  // namespace

OverwrittenFile::OverwrittenFile(const std::string& path, const std::string& directory)
    : target_(File::open_to_overwrite(path)),
      scratch_path_(directory + "/sorted-" + random_name()),
      scratch_(create_scratch(directory)) {}

OverwrittenFile::~OverwrittenFile() {
  if (has_name_) ::unlink(scratch_path_.c_str());
  forget_partial(scratch_path_);
}

// An unlinked file cannot get another name, so where one is needed it has it from the beginning.
File OverwrittenFile::create_scratch(const std::string& directory) {
  constexpr unsigned for_the_owner = 0600;
  const std::string shown_as = "temporary file in " + directory;
  std::optional<File> file =
      File::create_unnamed(directory, File::Caching::buffered, shown_as, for_the_owner);
  if (!file) {
    note_partial(scratch_path_);
    file = File::create(scratch_path_, File::Caching::buffered, shown_as, for_the_owner);
    has_name_ = true;
  }
  return std::move(*file);
}

void OverwrittenFile::finish(std::uint64_t bytes, OutputFile::Durability durability) {
  reserve(bytes);
  name_scratch(bytes, durability);
  try {
    write_over(bytes, durability);
  } catch (const Error& error) {
    has_name_ = false;  // it stays
    throw Error(ErrorCode::io,
                std::string(error.what()) + "; " + target_.path() +
                    " is damaged, and all the sorted data is in " + scratch_path_,
                target_.path(), error.offset(), error.system_errno());
  }
}

void OverwrittenFile::reserve(std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t before = target_.size();
  int reason = allocate(target_.descriptor(), bytes);
  const bool is_refused = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  if (is_refused) target_.set_size(before);  // returns the blocks allocated after its end
  if (reason != 0 && !is_refused) reason = has_free_space(target_.descriptor(), bytes) ? 0 : ENOSPC;
  if (reason == 0) return;
  const Error error =
      Error::from_errno("reserve " + std::to_string(bytes) + " bytes for", target_.path(), reason);
  throw Error(ErrorCode::io, std::string(error.what()) + "; it is as it was", target_.path(),
              Error::no_offset, reason);
}

void OverwrittenFile::name_scratch(std::uint64_t bytes, OutputFile::Durability durability) {
  scratch_.set_size(bytes);
  if (!has_name_) scratch_.link(scratch_path_);
  has_name_ = true;
  forget_partial(scratch_path_);  // no signal removes it now
  if (durability == OutputFile::Durability::on_disk) scratch_.sync();
}

// The file's blocks are reused: freed first, they might not be available again.
void OverwrittenFile::write_over(std::uint64_t bytes, OutputFile::Durability durability) {
  constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20;
  Buffer block(block_bytes);
  for (std::uint64_t at = 0; at < bytes; at += block_bytes) {
    const std::uint64_t part = std::min(block_bytes, bytes - at);
    scratch_.read_exactly(block.data(), part, at);
    target_.write_exactly(block.data(), part, at);
  }
  target_.set_size(bytes);
  if (durability == OutputFile::Durability::on_disk) target_.sync();
}

}  // namespace sortcore
