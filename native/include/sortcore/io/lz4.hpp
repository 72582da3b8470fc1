// LZ4, if the system has its library: loaded on first use, so that no build depends on it.
#pragma once

#include <cstddef>
#include <span>

namespace sortcore {

class Lz4 {
 public:
  // The system's LZ4; null if there is none, or if it lacks a required function.
  static const Lz4* of_the_system() noexcept;
  // The same for a library of any name, which stays loaded.
  static Lz4 load(const char* library) noexcept;

  bool is_there() const noexcept { return compress_ != nullptr && decompress_ != nullptr; }

  // Returns the bytes written to `into`, or 0 if there is no room for them. Neither may have 2 GB.
  std::size_t pack(std::span<const std::byte> from, std::span<std::byte> into) const noexcept;
  // Returns false unless `from` unpacks to exactly `into.size()` bytes; it never writes more than these.
  bool unpack(std::span<const std::byte> from, std::span<std::byte> into) const noexcept;

 private:
  using Compress = int (*)(const char* from, char* into, int from_bytes, int into_bytes, int acceleration);
  using Decompress = int (*)(const char* from, char* into, int from_bytes, int into_bytes);

  Compress compress_ = nullptr;
  Decompress decompress_ = nullptr;
};

}  // namespace sortcore
