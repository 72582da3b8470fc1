// Lines against std::stable_sort.
#include "check.hpp"
#include "random_lines.hpp"
#include "sortcore/line_sort.hpp"

namespace {
using namespace sortcore;
using lines::Text;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t effort = 1;
#else
constexpr std::uint64_t effort = 10;
#endif

Text sorted_by_core(const Text& text, const LineFormat& format, unsigned threads) {
  Text out(text.size() + (!text.empty() && text.back() != newline));
  sort_lines(text, out, format, threads);
  return out;
}

void check_sort(const Text& text, const LineFormat& format, unsigned threads) {
  CHECK(sorted_by_core(text, format, threads) == lines::expected_sorted(text, format));
  ++check::cases();
  CHECK_EQUAL(count_lines(text, threads), lines::split(text).size());
}
}  // namespace

TEST(lines_sort_as_the_standard_library_does) {
  RandomSequence random(21);
  for (std::uint64_t round = 0; round < 500 * effort * check::effort(); ++round) {
    const auto kind = lines::all_kinds[round % std::size(lines::all_kinds)];
    const Text text = lines::random_text(random.below(random.below(5) == 0 ? 400 : 20), kind, random);
    check_sort(text, lines::random_format(random), 1);
  }
}

// Enough lines for buckets, blocks that fill, and threads that share them.
TEST(many_lines_with_threads) {
  RandomSequence random(22);
  for (const lines::Kind kind : lines::all_kinds) {
    for (const LineFormat& format : {LineFormat{}, LineFormat{3, 9}}) {
      check_sort(lines::random_text(effort == 1 ? 70'000 : 150'000, kind, random), format, 3);
    }
  }
}

TEST(lines_are_gathered_in_any_parts) {
  RandomSequence random(23);
  for (std::uint64_t round = 0; round < 20 * effort; ++round) {
    const Text text =
        lines::random_text(3'000, lines::all_kinds[round % std::size(lines::all_kinds)], random);
    const Text expected = lines::expected_sorted(text, {});
    LineSorter sorter({}, 2);
    sorter.sort(text);
    CHECK_EQUAL(sorter.bytes(), expected.size());
    Text part(1 + random.below(5'000));
    for (std::size_t at = expected.size() / 2; at < expected.size(); at += part.size()) {
      part.resize(std::min(part.size(), expected.size() - at));
      sorter.gather(at, part);
      CHECK(std::equal(part.begin(), part.end(), expected.begin() + static_cast<std::ptrdiff_t>(at)));
    }
    CHECK_THROWS(bad_input, sorter.gather(expected.size(), part));
  }
}

// Runs of one text, as chunks of memory are, with gaps between.
TEST(lines_in_several_runs) {
  RandomSequence random(24);
  for (std::uint64_t round = 0; round < 50 * effort; ++round) {
    Text memory, joined;
    std::vector<TextRun> runs;
    for (std::uint64_t left = random.below(6); left > 0; --left) {
      memory.resize(memory.size() + random.below(100), std::byte{'x'});
      Text run = lines::random_text(random.below(300), lines::Kind::mixed, random);
      if (!run.empty()) run.back() = newline;
      runs.push_back({memory.size(), run.size()});
      memory.insert(memory.end(), run.begin(), run.end());
      joined.insert(joined.end(), run.begin(), run.end());
    }
    if (random.below(2) == 0) memory.resize(memory.size() + 64);
    const LineFormat format = lines::random_format(random);
    LineSorter sorter(format, 2);
    sorter.sort(memory.data(), runs);
    Text out(sorter.bytes());
    sorter.gather(0, out);
    CHECK(out == lines::expected_sorted(joined, format));
  }
}

// Megabytes of common beginning, which no recursion over key bytes survives.
TEST(very_long_equal_beginnings) {
  RandomSequence random(25);
  Text text;
  for (int line = 0; line < 24; ++line) {
    text.insert(text.end(), 1'000'000 + random.below(3),
                std::byte{line % 2 == 0 ? std::uint8_t{0} : std::uint8_t{'a'}});
    if (line % 3 == 0) text.push_back(static_cast<std::byte>(random.below(3)));
    text.push_back(newline);
  }
  check_sort(text, {}, 2);
  check_sort(text, {999'990, 50}, 2);
}

TEST(a_key_of_no_bytes_is_refused) {
  CHECK_THROWS(bad_input, LineSorter({.key_offset = 0, .key_bytes = 0}));
  Text out(3);
  CHECK_THROWS(bad_input, sort_lines(Text(3, newline), std::span(out).first(2), {}));
}
