#include "aligned_mapping.hpp"

#include <sys/mman.h>

#include <cstdint>

#include "sortcore/buffer.hpp"

namespace sortcore {

// Maps one huge page more and unmaps the excess.
std::byte* map_aligned(std::size_t bytes, int protection, int flags) noexcept {
  constexpr std::size_t huge = Buffer::huge_page_bytes;
  void* pages = ::mmap(nullptr, bytes + huge, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(pages);
  const std::size_t before = (huge - address % huge) % huge;
  std::byte* const begin = static_cast<std::byte*>(pages) + before;
  if (before != 0) ::munmap(pages, before);
  if (before != huge) ::munmap(begin + bytes, huge - before);
  return begin;
}

}  // namespace sortcore
