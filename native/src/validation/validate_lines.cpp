#include "sortcore/validation/validate_lines.hpp"

#include <algorithm>

#include "lines/newlines.hpp"
#include "sortcore/io/input_mapping.hpp"
#include "sortcore/lines/line_stretch.hpp"
#include "sortcore/threads.hpp"
#include "sortcore/validation/crc32.hpp"

namespace sortcore {
namespace {

using Line = std::span<const std::byte>;

// A line's checksum includes its newline; a missing one is added to a copy.
std::uint32_t crc_of(Line line, bool has_newline) {
  if (has_newline) return crc32({line.data(), line.size() + 1});
  std::vector<std::byte> copy(line.begin(), line.end());
  copy.push_back(newline);
  return crc32(copy);
}

LineSummary summarize(std::span<const std::byte> text, const LineFormat& format) {
  LineSummary summary{.format = format, .first_line = {}, .last_line = {}};
  Line before;
  while (!text.empty()) {
    const std::size_t left = text.size();
    const Line line = take_line(text);
    if (summary.lines == 0) {
      summary.first_line.assign(line.begin(), line.end());
    } else {
      const int order = compare_bytes(format.key_of(before), format.key_of(line));
      if (order > 0 && summary.unordered++ == 0) summary.first_unordered = summary.lines;
      summary.duplicates += order == 0;
    }
    summary.checksum += crc_of(line, line.size() < left);
    ++summary.lines;
    summary.bytes += line.size() + 1;
    before = line;
  }
  summary.last_line.assign(before.begin(), before.end());
  return summary;
}

// The lines that belong to a stretch of the text.
std::span<const std::byte> lines_of(std::span<const std::byte> text, const LineStretch& stretch) {
  const std::span<const std::byte> window = text.subspan(stretch.offset);
  const auto begin = stretch.first_line(window);
  if (!begin) return {};
  const auto end = stretch.lines_end(window, 0);
  return window.subspan(*begin, end.value_or(window.size()) - *begin);
}

}  // namespace

void LineSummary::append(const LineSummary& next) {
  if (next.lines == 0) return;
  const int order = lines == 0 ? -1 : compare_bytes(format.key_of(last_line), format.key_of(next.first_line));
  if (first_unordered == Summary::none) {
    if (order > 0) {
      first_unordered = lines;
    } else if (next.first_unordered != Summary::none) {
      first_unordered = lines + next.first_unordered;
    }
  }
  unordered += next.unordered + (order > 0);
  duplicates += next.duplicates + (order == 0);
  checksum += next.checksum;
  if (lines == 0) first_line = next.first_line;
  last_line = next.last_line;
  lines += next.lines;
  bytes += next.bytes;
}

LineSummary validate_lines(std::span<const std::byte> text, const LineFormat& format, unsigned threads,
                           Progress* progress) {
  format.check();
  constexpr std::size_t stretch_bytes = 1 << 22;
  std::vector<LineSummary> parts((text.size() + stretch_bytes - 1) / stretch_bytes);
  for_each_in_parallel(parts.size(), resolve_threads(threads), [&](std::uint64_t part) {
    throw_if_cancelled(progress);
    const std::size_t offset = part * stretch_bytes;
    const LineStretch stretch{offset, std::min(stretch_bytes, text.size() - offset)};
    parts[part] = summarize(lines_of(text, stretch), format);
    add_progress(progress, stretch.bytes);
  });
  LineSummary whole{.format = format, .first_line = {}, .last_line = {}};
  for (const LineSummary& part : parts) whole.append(part);
  return whole;
}

LineSummary validate_lines_file(const std::string& path, const LineFormat& format, unsigned threads,
                                Progress* progress) {
  const File file = File::open_to_read(path, File::Caching::buffered);
  const InputMapping mapping(file, static_cast<std::size_t>(file.size()));
  LineSummary summary = validate_lines(mapping.bytes(), format, threads, progress);
  mapping.check();
  return summary;
}

}  // namespace sortcore
