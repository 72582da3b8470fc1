// Lines against std::stable_sort.
#include <array>
#include <atomic>
#include <thread>

#include "check.hpp"
#include "line_sorting.hpp"
#include "lines/newlines.hpp"

namespace {
using namespace sortcore;
using lines::Text;

constexpr std::uint64_t line_effort = check::sanitized ? 1 : 10;

void check_line_sort(const Text& text, const LineFormat& format, unsigned threads) {
  CHECK(lines::sorted_by_core(text, format, threads) == lines::expected_sorted(text, format));
  ++check::cases();
}
}  // namespace

TEST(lines_sort_as_the_standard_library_does) {
  RandomSequence random(21);
  for (std::uint64_t round = 0; round < 500 * line_effort * check::effort(); ++round) {
    const auto kind = lines::all_kinds[round % std::size(lines::all_kinds)];
    const Text text = lines::random_text(random.below(random.below(5) == 0 ? 400 : 20), kind, random);
    check_line_sort(text, lines::random_format(random), 1);
  }
}

// Enough lines for buckets, blocks that fill, and threads that share them.
THREADED_TEST(many_lines_with_threads) {
  RandomSequence random(22);
  std::uint64_t turn = 0;
  for (const LineFormat& format : {LineFormat{}, LineFormat{3, 9}}) {
    for (const lines::Kind kind : lines::all_kinds) {
      if (check::leaves_out(turn++, 3, 5)) continue;
      check_line_sort(lines::random_text(check::sanitized ? 70'000 : 150'000, kind, random), format, 3);
    }
  }
}

THREADED_TEST(lines_are_gathered_in_any_parts) {
  RandomSequence random(23);
  for (std::uint64_t round = 0; round < 20 * line_effort; ++round) {
    const Text text =
        lines::random_text(3'000, lines::all_kinds[round % std::size(lines::all_kinds)], random);
    const Text expected = lines::expected_sorted(text, {});
    RunSorter sorter({}, false, 2);
    sorter.sort(text, UINT64_MAX, nullptr);
    CHECK_EQUAL(sorter.lines(), lines::split(text).size());
    CHECK_EQUAL(sorter.bytes(), expected.size());
    Text part(1 + random.below(5'000));
    for (std::size_t at = expected.size() / 2; at < expected.size(); at += part.size()) {
      part.resize(std::min(part.size(), expected.size() - at));
      sorter.gather(at, part);
      CHECK(std::equal(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(at)));
    }
  }
}

// Megabytes of common beginning, too deep for any recursion over key bytes.
THREADED_TEST(very_long_equal_beginnings) {
  RandomSequence random(25);
  Text text;
  for (int line = 0; line < (check::sanitized ? 12 : 24); ++line) {
    text.insert(text.end(), 1'000'000 + random.below(3),
                std::byte{line % 2 == 0 ? std::uint8_t{0} : std::uint8_t{'a'}});
    if (line % 3 == 0) text.push_back(static_cast<std::byte>(random.below(3)));
    text.push_back(newline);
  }
  check_line_sort(text, {}, 2);
  check_line_sort(text, {999'990, 50}, 2);
}

TEST(line_starts_stay_within_the_room_for_them) {
  RandomSequence random(26);
  for (int round = 0; round < 200; ++round) {
    const Text text = lines::random_text(random.below(100), lines::Kind::mixed, random);
    const std::size_t newlines = count_newlines(text);
    for (std::size_t room = newlines == 0 ? 0 : newlines - 1; room <= newlines + 1; ++room) {
      std::vector<std::uint64_t> starts(room + 1, UINT64_MAX);
      CHECK_EQUAL(list_line_starts(text, 5, std::span(starts).first(room)), room == newlines);
      CHECK_EQUAL(starts.back(), UINT64_MAX);
      if (room != newlines) continue;
      for (std::size_t i = 0; i < room; ++i) CHECK(text[starts[i] - 6] == newline);
      CHECK(std::ranges::adjacent_find(starts, std::greater_equal()) == starts.end());
    }
  }
}

#if !defined(__SANITIZE_THREAD__)  // the race is the point
// A mapped file may change at any moment: no read or write leaves its bounds.
TEST(text_that_changes_while_it_is_sorted_does_no_harm) {
  RandomSequence random(27);
  Text text = lines::random_text(20'000, lines::Kind::mixed, random);
  std::atomic<bool> done{false};
  std::jthread meddler([&, meddled = RandomSequence(28)]() mutable {
    while (!done) {
      volatile std::byte& byte = text[meddled.below(text.size())];
      byte = byte == newline ? std::byte{'x'} : newline;
    }
  });
  int noticed = 0;
  for (std::uint64_t round = 0;
       round < 30 * check::effort() && (round < 10 || noticed == 0 || !check::sanitized); ++round) {
    RunSorter sorter({}, false, 2);
    try {
      sorter.sort(text, UINT64_MAX, nullptr);
      Text out(sorter.bytes());
      sorter.gather(0, out);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::io);
      ++noticed;
    }
  }
  done = true;
  CHECK(noticed > 0);
}

// The end of the last line is checked separately from the count of lines.
TEST(an_end_of_the_last_line_that_comes_and_goes_does_no_harm) {
  Text text(5'000, std::byte{'x'});
  for (std::size_t at = 9; at < text.size(); at += 10) text[at] = newline;
  std::atomic<bool> done{false};
  std::jthread meddler([&] {
    for (volatile std::byte& last = text.back(); !done;) last = last == newline ? std::byte{'x'} : newline;
  });
  for (std::uint64_t round = 0; round < 2'000 * check::effort(); ++round) {
    RunSorter sorter({}, false, 1);
    try {
      sorter.sort(text, UINT64_MAX, nullptr);
      CHECK(sorter.bytes() - text.size() <= 1);
      Text out(sorter.bytes());
      sorter.gather(0, out);
      CHECK(out.back() == newline);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::io);
    }
  }
  done = true;
}
#endif
