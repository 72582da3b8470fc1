#include "bench/bench_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <span>

#include "sortcore/gensort/generate.hpp"

namespace sortcore {

File create_nameless(const std::string& directory, File::Caching wanted) {
  static std::atomic<unsigned> number{0};
  const std::string path =
      directory + "/.bench-" + std::to_string(::getpid()) + "-" + std::to_string(number++);
  File file = File::create(path, wanted, "temporary file in " + directory);
  ::unlink(path.c_str());
  return file;
}

void forget_cached([[maybe_unused]] const File& file) noexcept {
#ifdef POSIX_FADV_DONTNEED
  ::posix_fadvise(file.descriptor(), 0, 0, POSIX_FADV_DONTNEED);
#endif
}

void fill_with_records(std::byte* block, std::size_t bytes, std::uint64_t file_offset) {
  const std::size_t whole = bytes / generated_record_bytes * generated_record_bytes;
  generate_records(make_u128(0, file_offset / generated_record_bytes), std::span(block, whole), {});
}

}  // namespace sortcore
