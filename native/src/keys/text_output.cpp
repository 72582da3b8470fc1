#include "keys/text_output.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sortcore/buffer.hpp"
#include "sortcore/error.hpp"
#include "sortcore/external/one_pass.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;
constexpr std::uint64_t least_past_cache = std::uint64_t{64} << 20;
constexpr unsigned writes_under_way = 4;

[[noreturn]] void fail_to_open(const std::string& path, int reason) {
  throw Error(ErrorCode::io, "open failed: " + path + ": " + std::strerror(reason), path, Error::no_offset,
              reason);
}

// Nothing for a missing file, or one that cannot be examined.
std::optional<mode_t> mode_of(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status.st_mode;
}

// A new file would leave the old contents under these.
bool has_other_names(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && status.st_nlink > 1;
}

}  // namespace

TextOutput::TextOutput(const std::string& path, OutputFile::Durability durability,
                       const std::string& scratch_directory, bool replaces)
    : durability_(durability), name_(path) {
  if (path.empty()) {
    descriptor_ = STDOUT_FILENO;
    name_ = "'standard output'";
    find_place();
    return;
  }
  if (!is_new_file(path)) open_as_it_is(path, scratch_directory);
  if (file_ && !replaces) file_->replace_nothing();
}

// A file that cannot be replaced can still be written: in a directory that allows no new file, or if the file
// has several names.
bool TextOutput::is_new_file(const std::string& path) {
  const auto mode = mode_of(path);
  if (!mode && errno != ENOENT) return false;
  if (mode && (!S_ISREG(*mode) || is_mount_point(path) || has_other_names(path))) return false;
  if (mode && ::access(path.c_str(), W_OK) != 0) fail_to_open(path, errno);
  try {
    file_.emplace(path, File::Caching::buffered);
  } catch (const Error& error) {
    const int reason = error.system_errno();
    if (mode && (reason == EACCES || reason == EROFS)) return false;
    fail_to_open(path, reason);
  }
  descriptor_ = file_->file().descriptor();
  place_ = 0;
  writes_early_ = durability_ == OutputFile::Durability::on_disk;
  return true;
}

void TextOutput::open_as_it_is(const std::string& path, const std::string& scratch_directory) {
  if (const auto mode = mode_of(path); mode && S_ISREG(*mode)) {
    if (::access(path.c_str(), W_OK) != 0) fail_to_open(path, errno);
    overwritten_.emplace(path, scratch_directory);
    descriptor_ = overwritten_->scratch().descriptor();
    place_ = 0;
    return;
  }
  descriptor_ = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (descriptor_ < 0) fail_to_open(path, errno);
  owned_ = true;
}

TextOutput::TextOutput(const File& scratch, const std::string& directory, std::uint64_t place)
    : descriptor_(scratch.descriptor()), name_(directory), place_(place) {}

TextOutput::~TextOutput() {
  if (owned_) ::close(descriptor_);
}

void TextOutput::find_place() {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return;
  if ((::fcntl(descriptor_, F_GETFL) & O_APPEND) != 0) return;
  if (const off_t at = ::lseek(descriptor_, 0, SEEK_CUR); at >= 0) place_ = static_cast<std::uint64_t>(at);
}

void TextOutput::fail(int reason) const {
  throw Error(ErrorCode::io, "write failed: " + name_ + ": " + std::strerror(reason), name_, Error::no_offset,
              reason);
}

void TextOutput::write_at(std::span<const std::byte> bytes, std::uint64_t offset) const {
#ifdef SYNC_FILE_RANGE_WRITE
  const std::uint64_t begin = offset, size = bytes.size();
#endif
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(errno);
    add_progress(counted_, static_cast<std::uint64_t>(done));
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    offset += static_cast<std::uint64_t>(done);
  }
#ifdef SYNC_FILE_RANGE_WRITE
  if (writes_early_)
    ::sync_file_range(descriptor_, static_cast<off_t>(begin), static_cast<off_t>(size),
                      SYNC_FILE_RANGE_WRITE);
#endif
}

void TextOutput::write_next(std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(errno);
    add_progress(counted_, static_cast<std::uint64_t>(done));
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
}

void TextOutput::append(std::span<const std::byte> bytes) {
  if (run_ != nullptr) return run_->append(bytes);
  if (!place_) return write_next(bytes);
  write_at(bytes, *place_);
  *place_ += bytes.size();
}

void TextOutput::write(std::uint64_t bytes, unsigned threads, const Gather& gather,
                       const Progress* progress) {
  if (file_ && durability_ == OutputFile::Durability::on_disk && bytes >= least_past_cache)
    write_past_cache(bytes, threads, gather, progress);
  else
    write_through_cache(bytes, threads, gather, progress);
}

// Data that shares a block with earlier writes goes through the cache; the rest begins a block.
void TextOutput::write_past_cache(std::uint64_t bytes, unsigned threads, const Gather& gather,
                                  const Progress* progress) {
  const std::uint64_t begin = (*place_ + block_bytes - 1) / block_bytes * block_bytes;
  const std::uint64_t first = begin - *place_, end = *place_ + bytes;
  write_through_cache(first, 1, gather, progress);
  file_->set_size(end);
  file_->file().go_direct();
  gather_and_write(
      *file_, begin, {threads, writes_under_way, block_bytes},
      [&](std::uint64_t from, std::span<std::byte> out) { gather(first + from, out); }, counted_, [] {});
  place_ = end;
}

void TextOutput::write_through_cache(std::uint64_t bytes, unsigned threads, const Gather& gather,
                                     const Progress* progress) {
  const std::uint64_t blocks = (bytes + block_bytes - 1) / block_bytes;
  threads = static_cast<unsigned>(std::clamp<std::uint64_t>(blocks, 1, threads));
  Buffer memory(threads * block_bytes);
  const auto gathered = [&](std::uint64_t block, unsigned slot) {
    throw_if_cancelled(progress);
    const std::uint64_t from = block * block_bytes;
    const std::span<std::byte> part(memory.data() + slot * block_bytes,
                                    std::min<std::uint64_t>(block_bytes, bytes - from));
    gather(from, part);
    return part;
  };
  if (place_) {
    std::atomic<std::uint64_t> next{0};
    run_parallel(threads, [&](unsigned slot) {
      for (std::uint64_t block = next++; block < blocks; block = next++)
        write_at(gathered(block, slot), *place_ + block * block_bytes);
    });
    *place_ += bytes;
    return;
  }
  for (std::uint64_t first = 0; first < blocks; first += threads) {
    const auto slots = static_cast<unsigned>(std::min<std::uint64_t>(threads, blocks - first));
    std::vector<std::span<const std::byte>> parts(slots);
    run_parallel(slots, [&](unsigned slot) { parts[slot] = gathered(first + slot, slot); });
    for (const auto part : parts) write_next(part);
  }
}

void TextOutput::finish() {
  if (file_) {
    file_->set_size(*place_);
    OutputFile::commit({&*file_, 1}, durability_);
  } else if (overwritten_) {
    overwritten_->finish(*place_, durability_);
  } else if (place_ && !owned_) {
    ::lseek(descriptor_, static_cast<off_t>(*place_), SEEK_SET);
  }
  if (owned_) {
    owned_ = false;
    if (::close(descriptor_) != 0) fail(errno);
  }
}

}  // namespace sortcore
