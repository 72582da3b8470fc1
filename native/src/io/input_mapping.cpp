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

// What the signal handler may look at: plain atomics in static storage. A slot with begin == 0 is free.
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
  ::signal(SIGBUS, SIG_DFL);  // the faulting instruction runs again and ends the process as it would have
}

void install_handler() {
  system_page_bytes();  // the handler must not be the first to ask
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
void* map_file(const File& file, std::size_t bytes) {
  const std::size_t reserved_bytes = round_up_to_pages(bytes);
  std::byte* reserved = map_aligned(reserved_bytes, PROT_NONE, MAP_NORESERVE);
  if (reserved == nullptr) return MAP_FAILED;
  void* mapped = ::mmap(reserved, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file.descriptor(), 0);
  const int failure = errno;
  if (mapped == MAP_FAILED) ::munmap(reserved, reserved_bytes);
  errno = failure;
  return mapped;
}

}  // namespace

InputMapping::InputMapping(const File& file, std::size_t bytes) : file_(file), bytes_(bytes), slot_(0) {
  if (bytes == 0) return;
  void* address = map_file(file, bytes);
  if (address == MAP_FAILED) throw Error::from_errno("map", file.path(), errno);
  data_ = static_cast<const std::byte*>(address);
  try {
    slot_ = guard(data_, bytes);
  } catch (...) {
    ::munmap(address, bytes);
    throw;
  }
}

InputMapping::~InputMapping() { unmap(); }

void InputMapping::populate(unsigned threads, const Progress* progress) const {
#ifdef MADV_POPULATE_READ
  constexpr std::uint64_t stretch = std::uint64_t{16} << 20;  // between two looks at a cancel
  std::byte* const begin = const_cast<std::byte*>(data_);
  const std::uint64_t stretches = (bytes_ + stretch - 1) / stretch;
  run_parallel(threads, [&](unsigned index) {
    const Range mine = part_of(stretches, index, threads);
    for (std::uint64_t at = mine.begin * stretch; at < std::min<std::uint64_t>(mine.end * stretch, bytes_);
         at += stretch) {
      throw_if_cancelled(progress);
      ::madvise(begin + at, std::min<std::uint64_t>(stretch, bytes_ - at), MADV_POPULATE_READ);
    }
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
  const std::uint64_t size = file_.size();
  if (lost == 0 && size >= bytes_) return;
  const std::uint64_t at = lost == 0 ? size : lost - reinterpret_cast<std::uintptr_t>(data_);
  throw Error(ErrorCode::io,
              "read " + file_.path() + " at byte " + std::to_string(at) +
                  ": the page is gone; the file shrank while being read, or its disk failed",
              file_.path(), static_cast<std::int64_t>(at));
}

// By reads that do not wait: `mincore` calls every page of a file present that is not the caller's own.
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
