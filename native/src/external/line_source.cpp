#include "sortcore/external/line_source.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "lines/newlines.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/external/packing.hpp"
#include "sortcore/lines/line_format.hpp"
#include "sortcore/lines/line_stretch.hpp"

namespace sortcore {
namespace {

// Reads on into `into`, which already holds `have` bytes, until the lines of the stretch end; returns the
// end.
class LineReader {
 public:
  LineReader(const InputFile& input, const LineStretch& stretch, std::size_t longest_bytes, std::byte* into)
      : input_(input), stretch_(stretch), longest_bytes_(longest_bytes), into_(into) {}

  std::span<const std::byte> read() {
    const std::uint64_t left = input_.bytes - stretch_.offset;
    read_on(static_cast<std::size_t>(std::min<std::uint64_t>(left, stretch_.bytes + page_bytes)));
    const auto begin = stretch_.first_line(window());
    if (!begin) return {};
    std::size_t searched = stretch_.bytes;
    while (true) {
      const bool at_end = stretch_.offset + have_ == input_.bytes;
      if (stretch_.offset + stretch_.bytes == input_.bytes) return {into_ + *begin, with_newline() - *begin};
      if (const auto end = stretch_.lines_end(window(), searched)) return {into_ + *begin, *end - *begin};
      if (at_end) return {into_ + *begin, with_newline() - *begin};
      if (have_ >= stretch_.bytes + longest_bytes_) too_long(*begin);
      searched = have_;
      read_on(static_cast<std::size_t>(std::min<std::uint64_t>(left, have_ + step_bytes())));
    }
  }
  std::size_t bytes_read() const noexcept { return have_; }

 private:
  std::span<const std::byte> window() const noexcept { return {into_, have_}; }
  std::size_t step_bytes() const noexcept {
    return std::min<std::size_t>(stretch_.bytes + longest_bytes_ - have_, 16 * page_bytes);
  }

  void read_on(std::size_t until) {
    input_.file->read_exactly(into_ + have_, until - have_, stretch_.offset + have_);
    have_ = until;
  }

  std::size_t with_newline() noexcept {
    if (have_ == 0 || into_[have_ - 1] == newline) return have_;
    into_[have_] = newline;
    return have_ + 1;
  }

  [[noreturn]] void too_long(std::size_t begin) const {
    std::size_t start = stretch_.bytes;
    while (start > begin && into_[start - 1] != newline) --start;
    throw_line_too_long(input_.file->path(), stretch_.offset + start, longest_bytes_);
  }

  const InputFile& input_;
  LineStretch stretch_;
  std::size_t longest_bytes_;
  std::byte* into_;
  std::size_t have_ = 0;
};

}  // namespace

LineFilesSource::LineFilesSource(std::vector<InputFile> inputs, const ExternalPlan& plan)
    : FilesSource(std::move(inputs), plan.line_stride_bytes, plan.stable),
      longest_line_bytes_(plan.longest_line_bytes) {}

std::optional<SourceBlock> LineFilesSource::next(std::byte* into, StageClock& clock) {
  const auto piece = next_piece();
  if (!piece) return std::nullopt;
  LineReader reader(input(*piece), {piece->offset, piece->bytes}, longest_line_bytes_, into);
  const std::span<const std::byte> lines = reader.read();
  clock.bytes += reader.bytes_read();
  const std::uint64_t begin = lines.empty() ? 0 : static_cast<std::uint64_t>(lines.data() - into);
  return SourceBlock{lines, piece->sequence, &input(*piece).file->path(), piece->offset + begin};
}

std::span<const std::byte> LineFilesSource::usable(std::span<const std::byte> window,
                                                   std::uint64_t offset) const {
  const auto begin = LineStretch{offset, window.size()}.first_line(window);
  return begin ? window.subspan(*begin) : window.last(0);
}

LineSample sample_lines(File& file, std::uint64_t bytes, const Lz4* lz4) {
  constexpr std::uint64_t windows = 64;
  constexpr std::size_t window_bytes = 2 * page_bytes;
  Buffer sample(windows * window_bytes);
  std::size_t seen = 0;
  for (std::uint64_t i = 0; i < windows; ++i) {
    const std::uint64_t offset = bytes / windows * i / page_bytes * page_bytes;
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(bytes - offset, window_bytes));
    if (part == 0) break;
    std::byte* const window = sample.data() + i * window_bytes;  // begins on a page
    file.read_exactly(window, part, offset);
    std::memmove(sample.data() + seen, window, part);
    seen += part;
  }
  const auto text = std::as_const(sample).first(seen);
  return {std::max<std::uint64_t>(seen / (count_newlines(text) + 1), 1), packed_share(text, lz4)};
}

}  // namespace sortcore
