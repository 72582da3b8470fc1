#include "lines/line_index.hpp"

#include <algorithm>
#include <string>

#include "lines/newlines.hpp"
#include "sortcore/error.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::uint64_t piece_bytes = 1 << 20;

[[noreturn]] void refuse_change() {
  throw Error(ErrorCode::io, "the text changed while it was being sorted");
}

bool lacks_end(const std::byte* base, const TextRun& run, std::byte line_end) {
  return run.bytes != 0 && base[run.first_byte + run.bytes - 1] != line_end;
}

}  // namespace

std::uint64_t line_scratch_bytes(std::uint64_t lines, unsigned threads) {
  return scratch_bytes(lines, threads) + lines * sizeof(std::uint64_t) + Buffer::huge_page_bytes;
}

void LineIndex::build(const std::byte* base, std::span<const TextRun> runs, unsigned threads,
                      std::uint64_t most_lines, const Progress* progress, std::byte line_end,
                      std::optional<std::byte> quote) {
  cut(runs);
  const auto text_of = [&](const Piece& piece) {
    return std::span<const std::byte>(base + piece.begin, piece.end - piece.begin);
  };
  for_each_in_parallel(pieces_.size(), threads, [&](std::uint64_t i) {
    throw_if_cancelled(progress);
    Piece& piece = pieces_[i];
    if (quote) {
      piece.quoted = count_quoted_lines(text_of(piece), *quote);
    } else {
      piece.newlines = count_newlines(text_of(piece), line_end);
    }
  });
  if (quote) resolve_quotes();
  adds_newline_.clear();
  for (const TextRun& run : runs) adds_newline_.push_back(lacks_end(base, run, line_end));
  reserve(number_lines(runs), most_lines);
  for_each_in_parallel(pieces_.size(), threads, [&](std::uint64_t i) {
    throw_if_cancelled(progress);
    const Piece& piece = pieces_[i];
    const std::span<std::uint64_t> starts(starts_ + piece.first, piece.newlines);
    if (!(quote ? list_quoted_starts(text_of(piece), piece.begin, starts, *quote, piece.begins_within)
                : list_line_starts(text_of(piece), piece.begin, starts, line_end)))
      refuse_change();
  });
  mark_ends(runs);  // by one thread, so only after the others have touched the memory
  check_ends(runs);
}

void LineIndex::build_records(std::span<const TextRun> runs, std::uint64_t record_bytes, unsigned threads,
                              std::uint64_t most_records) {
  lines_.clear();
  bytes_ = extent_ = 0;
  std::uint64_t next = 0;
  for (const TextRun& run : runs) {
    lines_.push_back({next, run.bytes / record_bytes});
    next += run.bytes / record_bytes + 1;
    bytes_ += run.bytes;
    extent_ = std::max(extent_, run.first_byte + run.bytes);
  }
  reserve(next, most_records);
  for_each_in_parallel(runs.size(), threads, [&](std::uint64_t run) {
    for (std::uint64_t i = 0; i <= lines_[run].records; ++i)
      starts_[lines_[run].first_record + i] = runs[run].first_byte + i * record_bytes;
  });
}

void LineIndex::reserve(std::uint64_t lines, std::uint64_t most_lines) {
  if (lines > most_lines) {
    throw Error(ErrorCode::too_little_memory, "no memory for " + std::to_string(lines) + " lines at once");
  }
  if (lines > max_records_in_memory) {
    throw Error(ErrorCode::bad_input, "one sort in memory takes at most " +
                                          std::to_string(max_records_in_memory) + " lines, not " +
                                          std::to_string(lines));
  }
  memory_.reserve_discarding(lines * sizeof(std::uint64_t));
  starts_ = memory_.as<std::uint64_t>();
}

void LineIndex::cut(std::span<const TextRun> runs) {
  pieces_.clear();
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::uint64_t end = runs[run].first_byte + runs[run].bytes;
    for (std::uint64_t begin = runs[run].first_byte; begin < end; begin += piece_bytes)
      pieces_.push_back({run, begin, std::min(end, begin + piece_bytes)});
  }
}

// Determines for each piece whether it begins within quotes, from those before it in its run.
void LineIndex::resolve_quotes() {
  bool is_within = false;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    Piece& piece = pieces_[i];
    if (i == 0 || piece.run != pieces_[i - 1].run) is_within = false;
    piece.begins_within = is_within;
    piece.newlines = is_within ? piece.quoted.within : piece.quoted.outside;
    is_within ^= piece.quoted.flips;
  }
}

// Assigns the newlines of each piece their places: a run has one more, that of its beginning. Returns the
// number of places.
std::uint64_t LineIndex::number_lines(std::span<const TextRun> runs) {
  lines_.clear();
  bytes_ = extent_ = 0;
  std::uint64_t next = 0;
  auto piece = pieces_.begin();
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::uint64_t first = next++;
    for (; piece != pieces_.end() && piece->run == run; ++piece) {
      piece->first = next;
      next += piece->newlines;
    }
    next += adds_newline_[run];
    lines_.push_back({first, next - first - 1});
    bytes_ += runs[run].bytes + adds_newline_[run];
    extent_ = std::max(extent_, runs[run].first_byte + runs[run].bytes);
  }
  return next;
}

void LineIndex::mark_ends(std::span<const TextRun> runs) {
  for (std::size_t run = 0; run < runs.size(); ++run) {
    starts_[lines_[run].first_record] = runs[run].first_byte;
    const std::uint64_t end = runs[run].first_byte + runs[run].bytes;
    if (adds_newline_[run]) starts_[lines_[run].first_record + lines_[run].records] = end + 1;
  }
}

// An unchanged number of newlines may hide others: the lines of a run then end before its text does.
void LineIndex::check_ends(std::span<const TextRun> runs) const {
  for (std::size_t run = 0; run < runs.size(); ++run) {
    const std::uint64_t end = runs[run].first_byte + runs[run].bytes + adds_newline_[run];
    if (starts_[lines_[run].first_record + lines_[run].records] != end) refuse_change();
  }
}

}  // namespace sortcore
