#include "keys/key_extraction.hpp"

#include <algorithm>
#include <cstring>

#include "keys/ascii_classes.hpp"

namespace sortcore {
namespace {

const std::byte* skip_blanks(const std::byte* at, const std::byte* end) noexcept {
  while (at < end && is_blank(*at)) ++at;
  return at;
}

const std::byte* find_separator(const std::byte* at, const std::byte* end, std::byte separator) noexcept {
  while (at < end && *at != separator) ++at;
  return at;
}

// The position after a field and the blanks before it.
const std::byte* skip_field(const std::byte* at, const std::byte* end) noexcept {
  at = skip_blanks(at, end);
  while (at < end && !is_blank(*at)) ++at;
  return at;
}

const std::byte* advance(const std::byte* at, const std::byte* end, std::uint64_t bytes) noexcept {
  return at + std::min<std::uint64_t>(bytes, static_cast<std::uint64_t>(end - at));
}

const std::byte* begin_of(const std::byte* at, const std::byte* end, const KeyPart& part,
                          std::optional<std::byte> separator) noexcept {
  const std::uint64_t fields = part.first_field == KeyPart::unlimited ? 0 : part.first_field;
  for (std::uint64_t field = 0; field < fields && at < end; ++field) {
    at = separator ? find_separator(at, end, *separator) : skip_field(at, end);
    if (separator && at < end) ++at;
  }
  if (part.skips_blanks_at_start) at = skip_blanks(at, end);
  return advance(at, end, part.first_byte);
}

// The end of a key: its last field is not passed, as the key ends before that field's separator.
const std::byte* end_of(const std::byte* at, const std::byte* end, const KeyPart& part,
                        std::optional<std::byte> separator) noexcept {
  if (part.last_field == KeyPart::unlimited) return end;
  const bool whole = part.last_field_bytes == 0;
  for (std::uint64_t left = part.last_field + (whole ? 1 : 0); left > 0 && at < end; --left) {
    at = separator ? find_separator(at, end, *separator) : skip_field(at, end);
    if (separator && at < end && (left > 1 || !whole)) ++at;
  }
  if (whole) return at;
  if (part.skips_blanks_at_end) at = skip_blanks(at, end);
  return advance(at, end, part.last_field_bytes);
}

}  // namespace

std::span<const std::byte> extract_key(std::span<const std::byte> line, const KeyPart& part,
                                       std::optional<std::byte> separator) noexcept {
  const std::byte* const end = line.data() + line.size();
  const std::byte* const first = begin_of(line.data(), end, part, separator);
  const std::byte* const last = end_of(line.data(), end, part, separator);
  return {first, std::max(first, last)};
}

}  // namespace sortcore
