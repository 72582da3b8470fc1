// Sorting records that are already in memory, against the least it can cost: copying them out in an order
// known beforehand.
//
//   bench_memory RECORDS THREADS ROUNDS [uniform|skewed|...]
//
// Prints one JSON object per round: seconds of the bare gather and of the sort, run in turn on the same
// memory.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "../../native/src/gather.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/generate.hpp"
#include "sortcore/record_sort.hpp"
#include "sortcore/threads.hpp"
#include "sortcore/validate.hpp"

namespace {
using namespace sortcore;
using Clock = std::chrono::steady_clock;

template <typename Work>
double seconds(const Work& work) {
  const auto began = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - began).count();
}
}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t n = std::strtoull(argv[1], nullptr, 10);
  const unsigned threads = static_cast<unsigned>(std::atoi(argv[2]));
  const int rounds = std::atoi(argv[3]);
  const std::string kind = argc > 4 ? argv[4] : "uniform";
  Buffer in(n * 100), out(n * 100), perm(n * 4);
  in.prefault(threads);
  out.prefault(threads);
  generate_records(0, in.first(n * 100), {.skewed = kind == "skewed"}, threads);
  auto* order = perm.as<std::uint32_t>();
  std::iota(order, order + n, 0U);
  std::shuffle(order, order + n, std::mt19937_64(1));
  if (kind == "sorted" || kind == "reversed") {
    Buffer tmp(n * 100);
    KeySorter s({}, threads);
    sort_records(in.first(n * 100), tmp.first(n * 100), s);
    for (std::uint64_t i = 0; i < n; ++i) {
      std::memcpy(in.data() + i * 100, tmp.data() + (kind == "sorted" ? i : n - 1 - i) * 100, 100);
    }
  }
  if (kind == "equal")
    for (std::uint64_t i = 0; i < n; ++i) std::memset(in.data() + i * 100, 7, 10);
  if (kind == "few")
    for (std::uint64_t i = 0; i < n; ++i) {
      std::memset(in.data() + i * 100 + 1, 7, 9);
      in.data()[i * 100] &= std::byte{3};
    }
  if (kind == "half")
    for (std::uint64_t i = 0; i < n; i += 2) {
      std::memset(in.data() + i * 100, 7, 8);
    }
  const Summary before = validate_records(in.first(n * 100), {}, threads);
  KeySorter sorter({}, threads);
  for (int round = -1; round < rounds; ++round) {
    const double gather = seconds([&] {
      run_parallel(threads, [&](unsigned i) {
        const Range part = part_of(n, i, threads);
        gather_records(in.data(), order + part.begin, part.end - part.begin, 100,
                       out.data() + part.begin * 100, true);
      });
    });
    double one = 0;
    const double sort = seconds([&] {
      one = seconds([&] { sorter.sort(in.first(n * 100)); });
      sorter.gather_all(out.first(n * 100));
    });
    const double order_s = seconds([&] {
      sorter.sort(in.first(n * 100));
      sorter.order();
    });
    if (round < 0) {
      const Summary after = validate_records(out.first(n * 100), {}, threads);
      if (after.unordered != 0 || after.checksum != before.checksum) return std::puts("WRONG"), 1;
      continue;
    }
    std::printf("gather %.4f sort %.4f ratio %.3f (step one %.4f, order %.4f)\n", gather, sort, sort / gather,
                one, order_s);
  }
}
