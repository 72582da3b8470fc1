#include "sortcore/gensort/generate.hpp"

#include <algorithm>

#include "gensort/records.hpp"
#include "sortcore/error.hpp"
#include "sortcore/records/record_format.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::uint64_t records_per_piece = 1024;  // stays in cache between filling and skewing

void fill(U128 first, std::span<std::byte> out, const GeneratorOptions& options) {
  (options.ascii ? gensort::fill_ascii : gensort::fill_binary)(first, out);
  if (options.skewed) (options.ascii ? gensort::skew_ascii : gensort::skew_binary)(first, out);
}

}  // namespace

void generate_records(U128 first, std::span<std::byte> out, const GeneratorOptions& options,
                      unsigned threads) {
  const std::uint64_t records = RecordFormat{}.whole_records(out.size());
  threads = resolve_threads(threads);
  run_parallel(threads, [&](unsigned index) {
    const Range part = part_of(records, index, threads);
    for (std::uint64_t at = part.begin; at < part.end; at += records_per_piece) {
      const std::uint64_t count = std::min(records_per_piece, part.end - at);
      fill(first + at, out.subspan(at * generated_record_bytes, count * generated_record_bytes), options);
    }
  });
}

}  // namespace sortcore
