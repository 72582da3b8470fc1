// Sorting records that are already in memory, against the least it can cost: copying them out in an order
// known beforehand, with the same code and threads.
//
//   bench_memory RECORDS THREADS ROUNDS uniform|skewed|sorted|reversed|equal|few|half|outliers
//
// Prints one JSON object per round: seconds of the bare gather, of the sort run right after it on the same
// memory, of the sort's first step, and of a sort in one call, which takes its working memory afresh. A first
// round warms up and is validated, not printed.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>

#include "random_sequence.hpp"
#include "records/gather.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/gensort/generate.hpp"
#include "sortcore/records/record_sort.hpp"
#include "sortcore/threads.hpp"
#include "sortcore/validation/validate.hpp"

namespace {
using namespace sortcore;

constexpr std::size_t record_bytes = generated_record_bytes;

template <typename Work>
double seconds(const Work& work) {
  const auto began = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void shuffle(std::uint32_t* order, std::uint64_t records) {
  RandomSequence random(1);
  std::iota(order, order + records, 0U);
  for (std::uint64_t i = records; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
}

void sort_first(std::span<std::byte> records, bool reversed) {
  Buffer sorted(records.size());
  sort_records(records, sorted.first(records.size()), RecordFormat{});
  std::memcpy(records.data(), sorted.data(), records.size());
  const std::size_t count = records.size() / record_bytes;
  for (std::size_t i = 0; reversed && i < count / 2; ++i) {
    std::byte* const a = records.data() + i * record_bytes;
    std::swap_ranges(a, a + record_bytes, records.data() + (count - 1 - i) * record_bytes);
  }
}

void fill(std::span<std::byte> records, const std::string& kind, unsigned threads) {
  generate_records(0, records, {.skewed = kind == "skewed"}, threads);
  if (kind == "sorted" || kind == "reversed") sort_first(records, kind == "reversed");
  std::uint64_t index = 0;
  for (std::size_t at = 0; at < records.size(); at += record_bytes, ++index) {
    std::byte* const key = records.data() + at;
    if (kind == "equal") std::memset(key, 7, 10);
    if (kind == "few") std::memset(key, static_cast<int>(index * 2'654'435'761U >> 30 & 3), 10);
    if (kind == "outliers" && index % 1000 != 0) {
      std::memmove(key + 20, key, 10);
      std::memset(key, 7, 20);
    }
    if (kind == "half" && index % 2 == 0) std::memset(key, 7, 8);  // the last two bytes still differ
  }
}

// Outliers need room for what all others begin with.
RecordFormat format_of(const std::string& kind) {
  return {.record_bytes = record_bytes, .key_offset = 0, .key_bytes = kind == "outliers" ? 30U : 10U};
}

void gather(std::span<const std::byte> in, const std::uint32_t* order, std::span<std::byte> out,
            unsigned threads) {
  run_parallel(threads, [&](unsigned index) {
    const Range part = part_of(in.size() / record_bytes, index, threads);
    gather_records(RecordArray(in.data(), record_bytes), order + part.begin, part.end - part.begin,
                   out.data() + part.begin * record_bytes, true);
  });
}
}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fputs("usage: bench_memory RECORDS THREADS ROUNDS KIND\n", stderr), 2;
  const std::uint64_t records = std::strtoull(argv[1], nullptr, 10);
  const auto threads = resolve_threads(static_cast<unsigned>(std::atoi(argv[2])));
  const int rounds = std::atoi(argv[3]);
  Buffer input(records * record_bytes), output(records * record_bytes),
      permutation(records * sizeof(std::uint32_t));
  const std::span<std::byte> in = input.first(records * record_bytes),
                             out = output.first(records * record_bytes);
  output.prefault(threads);
  fill(in, argv[4], threads);
  shuffle(permutation.as<std::uint32_t>(), records);
  const RecordFormat format = format_of(argv[4]);
  KeySorter sorter(format, threads);
  for (int round = 0; round <= rounds; ++round) {
    const double gather_s = seconds([&] { gather(in, permutation.as<std::uint32_t>(), out, threads); });
    const double distribute_s = seconds([&] { sorter.sort(in); });
    const double finish_s = seconds([&] { sorter.gather_all(out); });
    const double one_call_s = seconds([&] { sort_records(in, out, format, threads); });
    if (round > 0) {
      std::printf("{\"gather_s\": %.5f, \"sort_s\": %.5f, \"distribute_s\": %.5f, \"one_call_s\": %.5f}\n",
                  gather_s, distribute_s + finish_s, distribute_s, one_call_s);
      continue;
    }
    const Summary sorted = validate_records(out, format, threads),
                  unsorted = validate_records(in, format, threads);
    if (sorted.unordered != 0 || sorted.checksum != unsorted.checksum)
      return std::fputs("not sorted\n", stderr), 5;
  }
}
