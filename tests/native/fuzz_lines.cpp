// Any bytes are text: sorted in memory, cut into stretches and validated, they give the standard library's
// result. The first bytes choose key, threads and stretch.
#include <algorithm>
#include <cstdlib>

#include "line_sorting.hpp"
#include "sortcore/lines/line_stretch.hpp"
#include "sortcore/validation/validate_lines.hpp"

namespace {
using namespace sortcore;
using lines::Text;

void demand(bool condition) {
  if (!condition) std::abort();
}

// Every line belongs to one stretch, and stretches follow each other.
void check_stretches(std::span<const std::byte> text, std::size_t stretch_bytes) {
  std::size_t behind = 0;
  for (std::size_t offset = 0; offset < text.size(); offset += stretch_bytes) {
    const LineStretch stretch{offset, std::min(stretch_bytes, text.size() - offset)};
    const auto window = text.subspan(offset);
    const auto begin = stretch.first_line(window);
    if (!begin) continue;
    demand(offset + *begin == behind);
    behind = offset + stretch.lines_end(window, 0).value_or(window.size());
  }
  demand(behind == text.size());
}
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  constexpr std::size_t choices = 4;
  if (size < choices) return 0;
  const LineFormat format{data[0] % 8U, data[1] % 2 == 0 ? LineFormat::to_the_end : 1 + data[1] % 16U};
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  const Text text(first + choices, first + size);
  const Text expected = lines::expected_sorted(text, format);
  const Text sorted = lines::sorted_by_core(text, format, 1 + data[2] % 2U);
  demand(sorted == expected);
  check_stretches(text, 1 + data[3]);
  const LineSummary before = validate_lines(text, format), after = validate_lines(sorted, format);
  demand(after.unordered == 0 && after.checksum == before.checksum && after.lines == before.lines &&
         after.bytes == expected.size());
  return 0;
}

std::uint64_t usual_runs() { return 4'000; }

// Seeds of the mutation driver.
std::vector<std::vector<std::byte>> seeds() {
  RandomSequence random(1);
  std::vector<Text> all;
  for (const lines::Kind kind : lines::all_kinds) {
    Text seed(4, std::byte{3});
    const Text text = lines::random_text(12, kind, random);
    seed.insert(seed.end(), text.begin(), text.end());
    all.push_back(seed);
  }
  return all;
}
