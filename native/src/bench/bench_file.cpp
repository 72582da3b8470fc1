#include "bench/bench_file.hpp"

#include <fcntl.h>

#include <span>

#include "sortcore/gensort/generate.hpp"

namespace sortcore {

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
