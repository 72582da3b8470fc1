#include "sortcore/lines/line_stretch.hpp"

#include <algorithm>

#include "lines/newlines.hpp"

namespace sortcore {
namespace {

std::optional<std::size_t> behind_newline(std::span<const std::byte> text, std::size_t from) noexcept {
  if (from >= text.size()) return std::nullopt;
  auto rest = text.subspan(from);
  const std::size_t line_bytes = take_line(rest).size();
  if (from + line_bytes == text.size()) return std::nullopt;
  return from + line_bytes + 1;
}

}  // namespace

std::optional<std::size_t> LineStretch::first_line(std::span<const std::byte> window) const noexcept {
  if (offset == 0) return 0;
  return behind_newline(window.first(std::min(bytes, window.size())), 0);
}

std::optional<std::size_t> LineStretch::lines_end(std::span<const std::byte> window,
                                                  std::size_t from) const noexcept {
  return behind_newline(window, std::max(from, bytes));
}

}  // namespace sortcore
