#include "sortcore/io/lz4.hpp"

#include <dlfcn.h>

namespace sortcore {
namespace {

// Functions and their arguments are the same in all versions with this number.
constexpr const char* stable_library = "liblz4.so.1";
constexpr int fastest_that_compresses_well = 1;

const char* characters(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const char*>(bytes.data());
}

char* characters(std::span<std::byte> bytes) noexcept { return reinterpret_cast<char*>(bytes.data()); }

}  // namespace

const Lz4* Lz4::of_the_system() noexcept {
  static const Lz4 library = load(stable_library);
  return library.is_there() ? &library : nullptr;
}

Lz4 Lz4::load(const char* library) noexcept {
  Lz4 lz4;
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return lz4;
  lz4.compress_ = reinterpret_cast<Compress>(::dlsym(handle, "LZ4_compress_fast"));
  lz4.decompress_ = reinterpret_cast<Decompress>(::dlsym(handle, "LZ4_decompress_safe"));
  return lz4;
}

std::size_t Lz4::pack(std::span<const std::byte> from, std::span<std::byte> into) const noexcept {
  const int written = compress_(characters(from), characters(into), static_cast<int>(from.size()),
                                static_cast<int>(into.size()), fastest_that_compresses_well);
  return written > 0 ? static_cast<std::size_t>(written) : 0;
}

bool Lz4::unpack(std::span<const std::byte> from, std::span<std::byte> into) const noexcept {
  const int written = decompress_(characters(from), characters(into), static_cast<int>(from.size()),
                                  static_cast<int>(into.size()));
  return written >= 0 && static_cast<std::size_t>(written) == into.size();
}

}  // namespace sortcore
