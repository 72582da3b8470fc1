#include "sortcore/lines/line_splitters.hpp"

#include <algorithm>
#include <utility>

#include "bytes.hpp"
#include "records/splitter_choice.hpp"
#include "sortcore/error.hpp"
#include "sortcore/lines/line_format.hpp"

namespace sortcore {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::uint64_t prefix_of(std::span<const std::byte> key) {
  return key.empty() ? 0 : load_big_endian(key.data(), key.size());
}

}  // namespace

LineSplitters::LineSplitters(std::vector<std::string> sample, std::size_t partitions) {
  if (partitions == 0) throw Error(ErrorCode::bad_input, "0 partitions asked for");
  std::ranges::sort(sample, [](const std::string& a, const std::string& b) {
    return compare_bytes(bytes_of(a), bytes_of(b)) < 0;
  });
  choose_boundaries(
      sample.size(), partitions, [&](std::size_t a, std::size_t b) { return sample[a] == sample[b]; },
      [&](std::size_t index, bool is_heavy) {
        boundaries_.push_back({sample[index], Splitters::Side::before});
        if (is_heavy) boundaries_.push_back({sample[index], Splitters::Side::after});
      });
  if (boundaries_.empty()) return;
  const std::string &first = boundaries_.front().key, &last = boundaries_.back().key;
  const auto end = std::ranges::mismatch(first, last).in1;
  common_.assign(first.begin(), end);
  for (const Boundary& boundary : boundaries_)
    prefixes_.push_back(prefix_of(bytes_of(boundary.key).subspan(common_.size())));
}

bool LineSplitters::holds_one_key(std::size_t partition) const noexcept {
  if (partition == 0 || partition >= boundaries_.size()) return false;
  const Boundary &below = boundaries_[partition - 1], &above = boundaries_[partition];
  return below.side == Splitters::Side::before && above.side == Splitters::Side::after &&
         below.key == above.key;
}

bool LineSplitters::is_above(std::span<const std::byte> key, const Boundary& boundary) const noexcept {
  const int order = compare_bytes(bytes_of(boundary.key), key);
  return order < 0 || (order == 0 && boundary.side == Splitters::Side::before);
}

std::size_t LineSplitters::partition_of(std::span<const std::byte> key) const noexcept {
  if (boundaries_.empty()) return 0;
  const int order = compare_bytes(key.first(std::min(key.size(), common_.size())), bytes_of(common_));
  if (order != 0) return order < 0 ? 0 : boundaries_.size();
  const std::uint64_t prefix = prefix_of(key.subspan(common_.size()));
  const auto [low, high] = std::ranges::equal_range(prefixes_, prefix);
  // Boundaries with another prefix are decided; those with this one are compared in full.
  const auto begin = boundaries_.begin() + (low - prefixes_.begin());
  const auto end = boundaries_.begin() + (high - prefixes_.begin());
  const auto place =
      std::partition_point(begin, end, [&](const Boundary& boundary) { return is_above(key, boundary); });
  return static_cast<std::size_t>(place - boundaries_.begin());
}

}  // namespace sortcore
