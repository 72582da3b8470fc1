#include "sortcore/keys/line_encoder.hpp"

#include <algorithm>

#include "keys/ascii_classes.hpp"
#include "keys/encodings.hpp"
#include "keys/key_extraction.hpp"

namespace sortcore {
namespace {

bool keeps(std::byte byte, KeyBytes which) noexcept {
  if (which == KeyBytes::all) return true;
  if (which == KeyBytes::printing) return is_printing(byte);
  return is_letter(byte) || is_digit(byte) || is_blank(byte);
}

}  // namespace

LineEncoder::LineEncoder(const KeyOrder& order)
    : separator_(order.separator), random_seed_(order.random_seed) {
  for (const KeyPart& part : order.parts) parts_.push_back({part, translation_of(part)});
}

std::optional<LineEncoder::Translation> LineEncoder::translation_of(const KeyPart& part) {
  if (part.bytes == KeyBytes::all && !part.folds_case) return std::nullopt;
  Translation translation;
  for (std::size_t i = 0; i < translation.to.size(); ++i) {
    const auto byte = static_cast<std::byte>(i);
    translation.to[i] = part.folds_case ? to_upper(byte) : byte;
    translation.keeps[i] = keeps(byte, part.bytes);
  }
  return translation;
}

std::span<const std::byte> LineEncoder::translated(std::span<const std::byte> key,
                                                   const Translation& translation) {
  scratch_.resize(std::max(scratch_.size(), key.size()));
  std::byte* to = scratch_.data();
  for (const std::byte byte : key) {
    *to = translation.to[value_of(byte)];
    to += translation.keeps[value_of(byte)];
  }
  return {scratch_.data(), to};
}

std::byte* LineEncoder::encode(std::span<const std::byte> key, const KeyPart& part, std::byte* to) const {
  switch (part.kind) {
    case KeyKind::text:
      return encode_text(key, to);
    case KeyKind::decimal:
      return encode_decimal(key, to);
    case KeyKind::general:
      return encode_general(key, to);
    case KeyKind::human:
      return encode_human(key, to);
    case KeyKind::month:
      return encode_month(key, to);
    case KeyKind::version:
      return encode_version(key, to);
    case KeyKind::random:
      return encode_random(key, random_seed_, to);
  }
  return to;
}

void LineEncoder::append(std::span<const std::byte> line, GrowingBytes& to) {
  for (const Part& part : parts_) {
    std::span<const std::byte> key = extract_key(line, part.key, separator_);
    if (part.translation) key = translated(key, *part.translation);
    std::byte* const begin = to.room(most_encoded_bytes(part.key.kind, key.size()));
    std::byte* const end = encode(key, part.key, begin);
    if (part.key.descending) std::transform(begin, end, begin, [](std::byte byte) { return ~byte; });
    to.end_at(end);
  }
}

}  // namespace sortcore
