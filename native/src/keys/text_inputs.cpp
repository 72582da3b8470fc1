#include "keys/text_inputs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "lines/quoted_lines.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::size_t most_per_call = std::size_t{1} << 30;

[[noreturn]] void fail(const char* action, const std::string& path, int reason) {
  throw Error(ErrorCode::io, std::string(action) + ": " + path + ": " + std::strerror(reason), path,
              Error::no_offset, reason);
}

}  // namespace

std::optional<std::uint64_t> regular_bytes(const std::string& path) {
  struct stat status{};
  if (path == "-" || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

std::optional<std::uint64_t> total_bytes(const std::vector<TextSource>& sources) {
  constexpr std::uint64_t longest_end = 2;
  std::uint64_t total = 0;
  for (const TextSource& source : sources) {
    const auto bytes = regular_bytes(source.path);
    if (!bytes) return std::nullopt;
    const std::uint64_t end = std::min(*bytes, source.end_byte);
    total += end - std::min(end, source.first_byte) + longest_end;
  }
  return total;
}

TextInput::TextInput(const TextSource& source)
    : path_(source.path),
      first_byte_(source.first_byte),
      left_bytes_(source.is_part() ? source.end_byte - source.first_byte : UINT64_MAX),
      descriptor_(path_ == "-" ? STDIN_FILENO : ::open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (descriptor_ < 0) fail("open failed", path_, errno);
  if (source.first_byte != 0 && ::lseek(descriptor_, static_cast<off_t>(source.first_byte), SEEK_SET) < 0 &&
      errno != ESPIPE)
    fail("read failed", path_, errno);
  first_size_ = regular_bytes(path_).value_or(0);
#ifdef POSIX_FADV_SEQUENTIAL
  ::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_SEQUENTIAL);
#endif
}

TextInput::TextInput(const File& scratch)
    : path_(scratch.path()), descriptor_(::fcntl(scratch.descriptor(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)) {
  if (descriptor_ < 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0) fail("open failed", path_, errno);
}

TextInput::TextInput(std::unique_ptr<RunFile> run) : path_(run->path()), run_(std::move(run)) {}

TextInput::TextInput(TextInput&& other) noexcept
    : path_(std::move(other.path_)),
      first_byte_(other.first_byte_),
      left_bytes_(other.left_bytes_),
      first_size_(other.first_size_),
      run_(std::move(other.run_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

TextInput::~TextInput() {
  if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
}

std::optional<std::uint64_t> TextInput::size_left() const {
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  const off_t at = ::lseek(descriptor_, 0, SEEK_CUR);
  if (at < 0) return std::nullopt;
  return std::min(static_cast<std::uint64_t>(std::max<off_t>(status.st_size - at, 0)), left_bytes_);
}

std::size_t TextInput::read_some(std::byte* into, std::size_t most) {
  while (true) {
    const ssize_t bytes = ::read(descriptor_, into, std::min(most, most_per_call));
    if (bytes == 0) require_whole();
    if (bytes >= 0) return static_cast<std::size_t>(bytes);
    if (errno != EINTR) fail("read failed", path_, errno);
  }
}

// Otherwise rows would be sorted that the file does not have any more, together with new ones.
void TextInput::require_whole() const {
  const bool is_part = left_bytes_ != UINT64_MAX;
  const off_t at = first_size_ == 0 ? 0 : ::lseek(descriptor_, 0, SEEK_CUR);
  struct stat status{};
  if (is_part || (at > 0 && ::fstat(descriptor_, &status) == 0 && status.st_size < at))
    throw Error(ErrorCode::io, "read failed: " + path_ + ": it became shorter while it was read", path_,
                status.st_size, EIO);
}

void TextInput::read_at(std::byte* into, std::size_t bytes, std::uint64_t offset) const {
  while (bytes > 0) {
    const ssize_t done =
        ::pread(descriptor_, into, std::min(bytes, most_per_call), static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("read failed", path_, done < 0 ? errno : EIO);  // shorter than before
    into += done;
    bytes -= static_cast<std::size_t>(done);
    offset += static_cast<std::uint64_t>(done);
  }
}

// A large part of a regular file is read by several threads; the end is found as for any input.
std::size_t TextInput::read(std::byte* into, std::size_t most, unsigned threads) {
  constexpr std::size_t part_bytes = std::size_t{4} << 20;
  if (run_) return run_->read(into, most);
  most = std::min<std::uint64_t>(most, left_bytes_);
  std::size_t have = 0;
  const std::uint64_t left = threads > 1 && most > part_bytes ? size_left().value_or(0) : 0;
  if (const std::size_t parts = std::min<std::uint64_t>(left, most) / part_bytes; parts > 1) {
    const auto offset = static_cast<std::uint64_t>(::lseek(descriptor_, 0, SEEK_CUR));
    for_each_in_parallel(parts, threads, [&](std::uint64_t part) {
      read_at(into + part * part_bytes, part_bytes, offset + part * part_bytes);
    });
    have = parts * part_bytes;
    ::lseek(descriptor_, static_cast<off_t>(offset + have), SEEK_SET);
  }
  while (have < most) {
    const std::size_t bytes = read_some(into + have, most - have);
    if (bytes == 0) break;
    have += bytes;
  }
  if (left_bytes_ != UINT64_MAX) left_bytes_ -= have;
  return have;
}

JoinedInputs::JoinedInputs(std::vector<TextSource> sources, const KeyOrder& order)
    : sources_(std::move(sources)),
      line_end_(order.line_end),
      csv_(order.csv),
      record_bytes_(order.record_bytes),
      last_(order.line_end) {}

void fail_in_record(const std::string& path, std::uint64_t bytes, std::uint64_t record_bytes) {
  throw Error(ErrorCode::bad_record, path + " holds no whole number of records of " +
                                         std::to_string(record_bytes) + " bytes: " + std::to_string(bytes) +
                                         " are left over");
}

void JoinedInputs::watch_quotes(std::span<const std::byte> bytes) {
  if (csv_) is_within_quotes_ ^= flips_quotes(bytes, csv_->quote);
}

// Returns the bytes written: at most two, for CSV.
std::size_t JoinedInputs::end_last_line(std::byte* to) {
  if (record_bytes_ != 0) {
    if (input_bytes_ % record_bytes_ != 0)
      fail_in_record(open_->path(), input_bytes_ % record_bytes_, record_bytes_);
    return 0;
  }
  if (is_within_quotes_)
    throw Error(ErrorCode::bad_record, open_->path() + ": the last row has a quoted field that has no end");
  if (last_ == line_end_) return 0;
  const bool adds_return = csv_ && csv_->ends_with_crlf && last_ != std::byte{'\r'};
  if (adds_return) *to++ = std::byte{'\r'};
  *to = line_end_;
  return adds_return ? 2 : 1;
}

std::size_t JoinedInputs::read(std::byte* into, std::size_t most, unsigned threads) {
  std::size_t have = 0;
  const std::size_t spare = csv_ ? 1 : 0;  // for an end of two bytes
  while (have + spare < most && !at_end()) {
    if (!open_) {
      begins_.push_back(joined_bytes_ + have);
      open_.emplace(sources_[next_++]);
    }
    const std::size_t wanted = most - have - spare;
    const std::size_t bytes = open_->read(into + have, wanted, threads);
    watch_quotes({into + have, bytes});
    have += bytes;
    input_bytes_ += bytes;
    if (bytes != 0) last_ = into[have - 1];
    if (bytes == wanted) break;
    have += end_last_line(into + have);
    last_ = line_end_;
    input_bytes_ = 0;
    open_.reset();
  }
  joined_bytes_ += have;
  return have;
}

TextSource JoinedInputs::place_of(std::uint64_t offset) const {
  const auto behind = std::ranges::upper_bound(begins_, offset);
  const auto input = static_cast<std::size_t>(behind - begins_.begin()) - 1;
  return {sources_[input].path, sources_[input].first_byte + offset - begins_[input]};
}

}  // namespace sortcore
