#include <algorithm>

#include "sortcore/buffer.hpp"
#include "sortcore/io/file.hpp"
#include "sortcore/threads.hpp"
#include "sortcore/validation/validate.hpp"
#include "validation/summary_builder.hpp"

namespace sortcore {
namespace {

constexpr std::uint64_t block_bytes = 4'096'000;

Summary validate_part(File& file, Range records, const RecordFormat& format, Progress* progress) {
  const std::uint64_t block_records = std::max<std::uint64_t>(1, block_bytes / format.record_bytes);
  Buffer block(block_records * format.record_bytes);
  SummaryBuilder builder(format);
  for (std::uint64_t at = records.begin; at < records.end; at += block_records) {
    throw_if_cancelled(progress);
    const std::uint64_t bytes = std::min(block_records, records.end - at) * format.record_bytes;
    file.read_exactly(block.data(), bytes, at * format.record_bytes);
    builder.add(block.first(bytes));
    add_progress(progress, bytes);
  }
  return std::move(builder).finish();
}

}  // namespace

Summary validate_file(const std::string& path, const RecordFormat& format, unsigned threads,
                      Progress* progress) {
  format.check();
  File file = File::open_to_read(path, File::Caching::buffered);
  const std::uint64_t records = format.whole_records(file.size(), path);
  threads = resolve_threads(threads);
  std::vector<Summary> parts(threads);
  run_parallel(threads, [&](unsigned index) {
    parts[index] = validate_part(file, part_of(records, index, threads), format, progress);
  });
  return join_summaries(parts);
}

}  // namespace sortcore
