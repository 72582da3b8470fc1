#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "check.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/progress.hpp"
#include "sortcore/threads.hpp"

using namespace sortcore;

TEST(parts_cover_everything_once) {
  for (std::uint64_t count = 0; count < 50; ++count) {
    for (unsigned parts = 1; parts < 9; ++parts) {
      std::uint64_t next = 0;
      for (unsigned index = 0; index < parts; ++index) {
        const Range part = part_of(count, index, parts);
        CHECK_EQUAL(part.begin, next);
        CHECK(part.end - part.begin <= count / parts + 1);
        next = part.end;
      }
      CHECK_EQUAL(next, count);
    }
  }
}

THREADED_TEST(parallel_work_runs_once_each_and_passes_exceptions_on) {
  std::atomic<unsigned> ran{0};
  run_parallel(5, [&](unsigned index) { ran += 1U << index; });
  CHECK_EQUAL(ran.load(), 31U);
  std::atomic<int> finished{0};
  bool thrown = false;
  try {
    run_parallel(4, [&](unsigned index) {
      if (index == 2) throw std::runtime_error("two");
      ++finished;
    });
  } catch (const std::runtime_error& error) {
    thrown = std::string(error.what()) == "two";
  }
  CHECK(thrown);
  CHECK_EQUAL(finished.load(), 3);
}

THREADED_TEST(buffers_are_zeroed_kept_and_moved) {
  Buffer buffer(3'000'000);
  CHECK(buffer.size() >= 3'000'000);
  CHECK(buffer.data()[2'999'999] == std::byte{0});
  buffer.data()[0] = std::byte{9};
  const std::byte* const before = buffer.data();
  buffer.reserve_discarding(1000);
  buffer.prefault(2);
  CHECK(buffer.data() == before);
  CHECK(buffer.data()[0] == std::byte{9});
  Buffer moved = std::move(buffer);
  CHECK(moved.data() == before);
  moved.reserve_discarding(10'000'000);
  CHECK(moved.size() >= 10'000'000);
  CHECK_THROWS(too_little_memory, Buffer(std::size_t{1} << 60));
}

TEST(buffers_grow_and_keep_what_they_have) {
  Buffer buffer;
  for (const std::size_t bytes : {1'000, 100'000, 3'000'000, 50'000'000, 2'000}) {
    const std::size_t before = buffer.size();
    buffer.grow(bytes);
    CHECK(buffer.size() >= std::max(bytes, before));
    for (std::size_t place = 0; place < before; place += 999) CHECK(buffer.data()[place] == std::byte{7});
    std::ranges::fill(buffer.first(buffer.size()), std::byte{7});
  }
  CHECK_THROWS(too_little_memory, buffer.grow(std::size_t{1} << 60));
}

TEST(progress_tells_and_is_told) {
  Progress progress;
  progress.begin_phase(2, 100);
  progress.add_bytes(40);
  CHECK_EQUAL(progress.phase(), 2U);
  CHECK_EQUAL(progress.bytes_done(), 40U);
  progress.throw_if_cancelled();
  progress.cancel();
  CHECK_THROWS(cancelled, progress.throw_if_cancelled());
}
