// Any bytes are text, any keys are keys: sorted and merged they keep every line, encoded keys are in order,
// and none is a prefix of another. The first bytes choose the keys.
#include <algorithm>
#include <cstdlib>

#include "random_lines.hpp"
#include "sortcore/keys/line_encoder.hpp"
#include "sortcore/keys/partition_text.hpp"
#include "sortcore/keys/sort_text.hpp"

namespace {
using namespace sortcore;
using lines::Text;

void demand(bool condition) {
  if (!condition) std::abort();
}

KeyPart part_from(const unsigned char* data) {
  KeyPart part;
  part.first_field = data[0] % 5 == 4 ? KeyPart::unlimited : data[0] % 5U;
  part.first_byte = data[0] / 5 % 4;
  part.last_field = data[1] % 3 == 2 ? KeyPart::unlimited : data[1] % 3U;
  part.last_field_bytes = data[1] / 3 % 4;
  part.kind = static_cast<KeyKind>(data[2] % 7);
  part.bytes = static_cast<KeyBytes>(data[2] / 7 % 3);
  part.skips_blanks_at_start = (data[3] & 1) != 0;
  part.skips_blanks_at_end = (data[3] & 2) != 0;
  part.folds_case = (data[3] & 4) != 0;
  part.descending = (data[3] & 8) != 0;
  return part;
}

std::vector<std::byte> key_of(const KeyOrder& order, std::span<const std::byte> line) {
  LineEncoder encoder(order);
  GrowingBytes key;
  encoder.append(line, key);
  return {key.bytes().begin(), key.bytes().end()};
}

// Checks that neither of two different keys begins with the other.
void check_pair(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  if (a == b) return;
  const auto differ = std::ranges::mismatch(a, b);
  demand(differ.in1 != a.end() && differ.in2 != b.end());
}

void check_sorted(const Text& sorted, const KeyOrder& order) {
  std::vector<std::byte> before;
  bool first = true;
  for (const auto line : lines::split(sorted)) {
    auto key = key_of(order, line);
    demand(first || before <= key);
    if (!first) check_pair(before, key);
    before = std::move(key);
    first = false;
  }
}

Text text_of(const std::string& characters) {
  const auto bytes = std::as_bytes(std::span(characters));
  return {bytes.begin(), bytes.end()};
}

// Groups hold the lines between their boundaries, and sorted one by one they equal the sorted text.
void check_partitions(const Text& text, const KeyOrder& order, const Text& sorted) {
  std::vector<TextBoundary> boundaries;
  const auto in_order = lines::split(sorted);
  for (std::size_t i = 0; i < in_order.size(); i += 1 + in_order.size() / 3)
    boundaries.push_back(
        {std::string(reinterpret_cast<const char*>(in_order[i].data()), in_order[i].size()), i % 2 == 1});
  Text grouped(grouped_bytes(text, order));
  const auto begins = partition_text(text, grouped, order, boundaries);
  demand(begins.size() == boundaries.size() + 2 && begins.front() == 0 && begins.back() == grouped.size());
  Text together;
  for (std::size_t i = 0; i + 1 < begins.size(); ++i) {
    const auto part = std::span<const std::byte>(grouped).subspan(begins[i], begins[i + 1] - begins[i]);
    const Text in_part = text_of(sorted_text(part, order, false));
    together.insert(together.end(), in_part.begin(), in_part.end());
  }
  if (order.whole_line_last) demand(together == sorted);
  const TextSummary before = summarize_text(text, order), after = summarize_text(together, order);
  demand(before.lines == after.lines && before.checksum == after.checksum && after.unordered == 0);
}

// Records keep their bytes and come in the order of their keys, whatever the kind.
void check_records(const unsigned char* data, const Text& text) {
  constexpr KeyKind kinds[] = {KeyKind::text, KeyKind::decimal, KeyKind::binary_unsigned,
                               KeyKind::binary_signed, KeyKind::binary_floating};
  KeyOrder order;
  order.record_bytes = 1 + data[9] % 20U;
  KeyPart part{.first_field = KeyPart::unlimited, .last_field = 0};
  part.kind = kinds[data[2] % 5];
  const std::uint64_t width =
      part.kind == KeyKind::binary_floating ? std::uint64_t{2} << data[3] % 3 : 1 + data[3] % 8U;
  if (width > order.record_bytes) return;
  part.first_byte = data[1] % (order.record_bytes - width + 1);
  part.last_field_bytes = part.first_byte + width;
  part.is_little_endian = data[4] % 2 != 0;
  part.descending = data[4] % 3 == 0;
  order.parts.push_back(part);
  const std::span<const std::byte> whole(text.data(), text.size() - text.size() % order.record_bytes);
  const Text sorted = text_of(sorted_text(whole, order, false));
  std::vector<Text> before, after;
  std::vector<std::byte> last;
  for (std::size_t at = 0; at < whole.size(); at += order.record_bytes) {
    before.emplace_back(whole.begin() + at, whole.begin() + at + order.record_bytes);
    after.emplace_back(sorted.begin() + at, sorted.begin() + at + order.record_bytes);
    auto key = key_of(order, after.back());
    demand(last <= key);
    last = std::move(key);
  }
  std::ranges::sort(before);
  std::ranges::sort(after);
  demand(sorted.size() == whole.size() && before == after);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  constexpr std::size_t choices = 10;
  if (size < choices) return 0;
  KeyOrder order;
  order.parts.push_back(part_from(data));
  if (data[8] % 2 == 0) order.parts.push_back(part_from(data + 4));
  if (data[8] % 3 == 0) order.separator = static_cast<std::byte>(data[9]);
  order.whole_line_last = data[8] % 5 != 0;
  const auto* const first = reinterpret_cast<const std::byte*>(data);
  const Text text(first + choices, first + size);
  check_records(data, text);
  const Text sorted = text_of(sorted_text(text, order, false));
  check_sorted(sorted, order);
  demand(lines::expected_sorted(sorted, {}) == lines::expected_sorted(text, {}));
  check_partitions(text, order, sorted);
  const Text unique = text_of(sorted_text(text, order, true));
  check_sorted(unique, order);
  demand(lines::split(unique).size() <= lines::split(text).size());
  order.reversed = order.whole_line_last = true;
  const auto backwards = sorted_text(text, order, false);
  demand(backwards.size() == sorted.size());
  return 0;
}

std::uint64_t usual_runs() { return 4'000; }

// Seeds of the mutation driver.
std::vector<std::vector<std::byte>> seeds() {
  constexpr std::string_view texts[] = {"10 b\n-2.50 a\n1e3\n0x1p4 nan\n-inf\n", "1K\n-3M x\n.5Y\n1,000\n",
                                        "jan 1\nFEB 2\n  dec\n", "a-1.2.tar.gz\na-1.10\n.x~\n..\n",
                                        "b,10,x\na,,Y\n\n,,,\n"};
  std::vector<Text> all;
  for (std::size_t kind = 0; kind < 7; ++kind) {
    for (const std::string_view words : texts) {
      Text seed(10, std::byte{2});
      seed[2] = static_cast<std::byte>(kind);
      seed[8] = static_cast<std::byte>(kind + words.size());
      seed[9] = std::byte{','};
      lines::append(seed, words);
      all.push_back(seed);
    }
  }
  return all;
}
