#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/sendfile.h>
#endif
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "sortcore/error.hpp"
#include "sortcore/exchange/parts.hpp"

namespace sortcore {
namespace {

#ifdef __linux__
constexpr int send_flags = MSG_NOSIGNAL | MSG_DONTWAIT;
constexpr int more_follows = MSG_MORE;
// The kernel can send a file's pages without a copy, but it takes them one by one: for a longer part, mapping
// them and sending from there takes less of both ends' processors.
constexpr std::uint64_t worth_mapping_bytes = 256U << 10;

ssize_t send_pages(int socket, int file, std::uint64_t offset, std::uint64_t bytes) {
  auto at = static_cast<off_t>(offset);
  return ::sendfile(socket, file, &at, bytes);
}
#else
constexpr int send_flags = MSG_DONTWAIT;
constexpr int more_follows = 0;
constexpr std::uint64_t worth_mapping_bytes = 0;

ssize_t send_pages(int, int, std::uint64_t, std::uint64_t) { return 0; }
#endif

// A range of a file in memory; whoever sends from it fails, and is not killed, if the file is cut meanwhile.
class MappedRange {
 public:
  MappedRange(int file, std::uint64_t offset, std::uint64_t bytes)
      : ahead_(offset % page_bytes()), size_(bytes) {
    const auto begin = static_cast<off_t>(offset - ahead_);
    memory_ = ::mmap(nullptr, size_ + ahead_, PROT_READ, MAP_SHARED, file, begin);
    if (memory_ == MAP_FAILED) throw Error::from_errno("map a file to send", "", errno);
  }
  MappedRange(const MappedRange&) = delete;
  MappedRange& operator=(const MappedRange&) = delete;
  ~MappedRange() { ::munmap(memory_, size_ + ahead_); }

  std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(memory_) + ahead_, static_cast<std::size_t>(size_)};
  }

 private:
  static std::uint64_t page_bytes() { return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)); }

  void* memory_;
  std::uint64_t ahead_;
  std::uint64_t size_;
};

// A file open for reading, or none.
class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  int descriptor() const noexcept { return descriptor_; }

  bool has(std::uint64_t offset, std::uint64_t bytes) const noexcept {
    struct stat facts{};
    if (descriptor_ < 0 || ::fstat(descriptor_, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
    const auto size = static_cast<std::uint64_t>(facts.st_size);
    return offset <= size && bytes <= size - offset;
  }

 private:
  int descriptor_;
};

int open_first(std::span<const std::string> folders, const std::string& name) {
  if (name.empty() || name.find('/') != std::string::npos) return -1;
  for (const std::string& folder : folders) {
    const std::string path = folder + "/" + name;
    if (const int found = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC); found >= 0) return found;
    if (errno == EMFILE || errno == ENFILE) throw Error::from_errno("open a file to send", path, errno);
  }
  return -1;
}

class Sender {
 public:
  Sender(int socket, std::chrono::milliseconds longest_silence)
      : socket_(socket), silence_ms_(static_cast<int>(longest_silence.count())) {}

  void send(std::span<const std::byte> bytes, int flags = 0) {
    while (!bytes.empty()) {
      const auto sent = ::send(socket_, bytes.data(), bytes.size(), send_flags | flags);
      if (advanced(sent)) bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
  }

  void send_file(int file, std::uint64_t offset, std::uint64_t bytes) {
    if (bytes > 0 && bytes >= worth_mapping_bytes) {
      send(MappedRange(file, offset, bytes).bytes());
      return;
    }
    while (bytes > 0) {
      const auto sent = send_pages(socket_, file, offset, bytes);
      if (sent == 0) throw Error::from_errno("send a file that was cut", "", EIO);
      if (!advanced(sent)) continue;
      offset += static_cast<std::uint64_t>(sent);
      bytes -= static_cast<std::uint64_t>(sent);
    }
  }

 private:
  // Returns whether a call sent something; if it would have blocked, waits until the next would not.
  bool advanced(ssize_t sent) const {
    if (sent >= 0) return true;
    if (errno == EINTR) return false;
    if (errno != EAGAIN && errno != EWOULDBLOCK) throw Error::from_errno("send to a node", "", errno);
    pollfd room{.fd = socket_, .events = POLLOUT, .revents = 0};
    const int ready = ::poll(&room, 1, silence_ms_);
    if (ready == 0) throw Error::from_errno("send to a node", "", ETIMEDOUT);
    if (ready < 0 && errno != EINTR) throw Error::from_errno("wait for a node", "", errno);
    return false;
  }

  int socket_;
  int silence_ms_;
};

// The files of a group's parts; neighbours of one file share it.
std::vector<std::shared_ptr<OpenFile>> open_files(std::span<const std::string> folders,
                                                  std::span<const FilePart> group) {
  std::vector<std::shared_ptr<OpenFile>> files;
  for (std::size_t at = 0; at < group.size(); ++at) {
    const bool is_same = at > 0 && group[at].name == group[at - 1].name;
    files.push_back(is_same ? files.back() : std::make_shared<OpenFile>(open_first(folders, group[at].name)));
  }
  return files;
}

void send_group(Sender& sender, std::span<const std::string> folders, std::span<const FilePart> group) {
  const auto files = open_files(folders, group);
  std::array<std::uint8_t, parts_at_once> states{};
  bool any_bytes = false;
  for (std::size_t at = 0; at < group.size(); ++at) {
    const bool is_here = files[at]->has(group[at].offset, group[at].bytes);
    states[at] = static_cast<std::uint8_t>(is_here ? PartState::arrived : PartState::missing);
    any_bytes |= is_here && group[at].bytes > 0;
  }
  sender.send(std::as_bytes(std::span(states).first(group.size())), any_bytes ? more_follows : 0);
  for (std::size_t at = 0; at < group.size(); ++at) {
    if (states[at] == static_cast<std::uint8_t>(PartState::arrived)) {
      sender.send_file(files[at]->descriptor(), group[at].offset, group[at].bytes);
    }
  }
}

}  // namespace

void send_parts(int socket, std::span<const std::string> folders, std::span<const FilePart> parts,
                std::chrono::milliseconds longest_silence) {
  Sender sender(socket, longest_silence);
  for (std::size_t first = 0; first < parts.size(); first += parts_at_once) {
    send_group(sender, folders, parts.subspan(first, std::min(parts_at_once, parts.size() - first)));
  }
}

}  // namespace sortcore
