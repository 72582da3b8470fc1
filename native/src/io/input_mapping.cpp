#include "sortcore/io/input_mapping.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <utility>
#include <vector>

#include "aligned_mapping.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

// State for the signal handler: plain atomics in static storage. A slot with begin == 0 is free.
struct Guarded {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};
  std::atomic<std::uintptr_t> lost{0};
};
static_assert(std::atomic<std::uintptr_t>::is_always_lock_free);

std::array<Guarded, InputMapping::max_mappings> guarded;
struct sigaction previous_action;
std::mutex registration;
unsigned registered = 0;

std::size_t system_page_bytes() noexcept {
  static const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return bytes;
}

bool replace_with_zeros(std::uintptr_t address) noexcept {
  for (Guarded& range : guarded) {
    if (address < range.begin.load() || address >= range.end.load()) continue;
    const std::size_t page = system_page_bytes();
    const std::uintptr_t start = address / page * page;
    std::uintptr_t none = 0;
    range.lost.compare_exchange_strong(none, start);
    return ::mmap(reinterpret_cast<void*>(start), page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
                  -1, 0) != MAP_FAILED;
  }
  return false;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const bool handled = replace_with_zeros(reinterpret_cast<std::uintptr_t>(info->si_addr));
  errno = saved_errno;
  if (handled) return;
  if ((previous_action.sa_flags & SA_SIGINFO) != 0)
    return previous_action.sa_sigaction(signal, info, context);
  if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    return previous_action.sa_handler(signal);
  }
  ::signal(SIGBUS, SIG_DFL);  // the faulting instruction runs again and ends the process as before
}

void install_handler() {
  system_page_bytes();  // the handler must not be the first to call this
  struct sigaction action{};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &previous_action);
}

std::size_t guard(const std::byte* data, std::size_t bytes) {
  const std::lock_guard lock(registration);
  const auto free_slot = std::find_if(guarded.begin(), guarded.end(),
                                      [](const Guarded& range) { return range.begin.load() == 0; });
  if (free_slot == guarded.end())
    throw Error(ErrorCode::io, "too many sorts at once: no room to guard another input");
  if (registered++ == 0) install_handler();
  free_slot->lost.store(0);
  free_slot->end.store(reinterpret_cast<std::uintptr_t>(data) + bytes);
  free_slot->begin.store(reinterpret_cast<std::uintptr_t>(data));
  return static_cast<std::size_t>(free_slot - guarded.begin());
}

void release(std::size_t slot) noexcept {
  const std::lock_guard lock(registration);
  guarded[slot].end.store(0);
  guarded[slot].begin.store(0);
  if (--registered == 0) ::sigaction(SIGBUS, &previous_action, nullptr);
}

// Where the page cache holds huge pages, a mapping can use them if it begins on one.
std::byte* map_files(std::span<const InputMapping::Part> parts, std::size_t bytes) {
  const std::size_t reserved_bytes = round_up_to_pages(bytes);
  std::byte* const reserved = map_aligned(reserved_bytes, PROT_READ, MAP_NORESERVE);
  if (reserved == nullptr) throw Error::from_errno("map", parts.front().file->path(), errno);
  for (const InputMapping::Part& part : parts) {
    const void* mapped = ::mmap(reserved + part.first_byte, part.bytes, PROT_READ, MAP_SHARED | MAP_FIXED,
                                part.file->descriptor(), 0);
    if (mapped != MAP_FAILED) continue;
    const int failure = errno;
    ::munmap(reserved, reserved_bytes);
    throw Error::from_errno("map", part.file->path(), failure);
  }
  return reserved;
}

}  // namespace

InputMapping::InputMapping(const File& file, std::size_t bytes) {
  const std::uint64_t size = bytes;
  place({&file, 1}, {&size, 1}, 1);
}

InputMapping::InputMapping(std::span<const File> files, std::span<const std::uint64_t> sizes,
                           std::size_t unit_bytes) {
  place(files, sizes, unit_bytes);
}

void InputMapping::place(std::span<const File> files, std::span<const std::uint64_t> sizes,
                         std::size_t unit_bytes) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (sizes[i] == 0) continue;
    const std::uint64_t first_byte = (bytes_ + unit_bytes - 1) / unit_bytes * unit_bytes;
    parts_.push_back({&files[i], first_byte, sizes[i]});
    bytes_ = static_cast<std::size_t>(first_byte + sizes[i]);
  }
  if (parts_.empty()) return;
  std::byte* const mapped = map_files(parts_, bytes_);
  try {
    slot_ = guard(mapped, bytes_);
  } catch (...) {
    ::munmap(mapped, bytes_);
    throw;
  }
  data_ = mapped;
}

std::uint64_t InputMapping::file_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const Part& part : parts_) bytes += part.bytes;
  return bytes;
}

InputMapping::~InputMapping() { unmap(); }

void InputMapping::populate(unsigned threads, const Progress* progress) const {
#ifdef MADV_POPULATE_READ
  constexpr std::uint64_t stretch = std::uint64_t{16} << 20;  // between two checks for a cancel
  std::vector<Range> stretches;
  for (const Part& part : parts_) {
    const std::uint64_t end = part.first_byte + part.bytes;
    for (std::uint64_t at = part.first_byte; at < end; at += stretch)
      stretches.push_back({at, std::min(end, at + stretch)});
  }
  for_each_in_parallel(stretches.size(), threads, [&](std::uint64_t i) {
    throw_if_cancelled(progress);
    ::madvise(const_cast<std::byte*>(data_) + stretches[i].begin, stretches[i].end - stretches[i].begin,
              MADV_POPULATE_READ);
  });
#else
  static_cast<void>(threads);
  static_cast<void>(progress);
#endif
}

void InputMapping::close() {
  check();
  unmap();
}

void InputMapping::unmap() noexcept {
  if (data_ == nullptr) return;
  release(slot_);
  ::munmap(const_cast<std::byte*>(std::exchange(data_, nullptr)), std::exchange(bytes_, 0));
}

void InputMapping::check() const {
  if (data_ == nullptr) return;
  const std::uintptr_t lost = guarded[slot_].lost.load();
  const std::uint64_t lost_at = lost == 0 ? bytes_ : lost - reinterpret_cast<std::uintptr_t>(data_);
  for (const Part& part : parts_) {
    const bool lost_here = lost_at >= part.first_byte && lost_at < part.first_byte + part.bytes;
    const std::uint64_t size = part.file->size();
    if (!lost_here && size >= part.bytes) continue;
    const std::uint64_t at = lost_here ? lost_at - part.first_byte : size;
    throw Error(ErrorCode::io,
                "read " + part.file->path() + " at byte " + std::to_string(at) +
                    ": the page is gone; the file shrank while being read, or its disk failed",
                part.file->path(), static_cast<std::int64_t>(at));
  }
}

// By reads that do not wait: `mincore` reports every page of another user's file as present.
double cached_share(const File& file, std::size_t bytes) {
#if defined(__linux__) && defined(RWF_NOWAIT)
  constexpr std::size_t probes = 256;
  const std::size_t page = system_page_bytes();
  const std::size_t pages = bytes / page;
  if (pages == 0) return 1;
  std::size_t cached = 0;
  const std::size_t count = std::min(probes, pages);
  for (std::size_t probe = 0; probe < count; ++probe) {
    std::byte first{};
    const iovec into{&first, 1};
    const auto offset = static_cast<off_t>(probe * pages / count * page);
    if (::preadv2(file.descriptor(), &into, 1, offset, RWF_NOWAIT) == 1) ++cached;
  }
  return static_cast<double>(cached) / static_cast<double>(count);
#else
  static_cast<void>(file);
  static_cast<void>(bytes);
  return 0;
#endif
}

}  // namespace sortcore
