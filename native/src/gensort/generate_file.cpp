#include <algorithm>
#include <atomic>

#include "sortcore/buffer.hpp"
#include "sortcore/error.hpp"
#include "sortcore/gensort/generate.hpp"
#include "sortcore/io/output_file.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

// Whole records and whole pages, so that all blocks but the last can be written past the page cache.
constexpr std::uint64_t records_per_block = 40'960;
static_assert(records_per_block * generated_record_bytes % page_bytes == 0);

}  // namespace

void generate_file(const std::string& path, U128 first, std::uint64_t records,
                   const GeneratorOptions& options, unsigned threads, Progress* progress, bool replaces) {
  if (records > INT64_MAX / generated_record_bytes) {
    throw Error(ErrorCode::bad_input, "no file can hold " + std::to_string(records) + " records", path);
  }
  const std::uint64_t bytes = records * generated_record_bytes;
  if (progress != nullptr) progress->begin_phase(0, bytes);
  OutputFile output(path, File::Caching::direct);
  if (!replaces) output.replace_nothing();
  output.set_size(bytes);
  std::atomic<std::uint64_t> next_record{0};
  run_parallel(resolve_threads(threads), [&](unsigned) {
    Buffer block(records_per_block * generated_record_bytes);
    while (true) {
      throw_if_cancelled(progress);
      const std::uint64_t at = next_record.fetch_add(records_per_block, std::memory_order_relaxed);
      if (at >= records) return;
      const std::uint64_t block_bytes = std::min(records_per_block, records - at) * generated_record_bytes;
      generate_records(first + at, block.first(block_bytes), options);
      output.file().write_exactly(block.data(), block_bytes, at * generated_record_bytes);
      add_progress(progress, block_bytes);
    }
  });
  output.commit();
}

}  // namespace sortcore
