#include "sortcore/keys/line_encoder.hpp"

#include <algorithm>

#include "keys/ascii_classes.hpp"
#include "keys/csv_fields.hpp"
#include "keys/encodings.hpp"
#include "keys/key_extraction.hpp"

namespace sortcore {
namespace {

constexpr std::byte behind_all_rows{3};  // the rank of the first column's value, or its absence, is 1 or 2

bool keeps(std::byte byte, KeyBytes which) noexcept {
  if (which == KeyBytes::all) return true;
  if (which == KeyBytes::printing) return is_printing(byte);
  return is_letter(byte) || is_digit(byte) || is_blank(byte);
}

}  // namespace

LineEncoder::LineEncoder(const KeyOrder& order)
    : separator_(order.separator), random_seed_(order.random_seed) {
  for (const KeyPart& part : order.parts) parts_.push_back({part, translation_of(part)});
  if (order.csv) fields_ = std::make_unique<CsvFields>(*order.csv);
}
LineEncoder::LineEncoder(LineEncoder&&) noexcept = default;
LineEncoder::~LineEncoder() = default;

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
  scratch_.resize(std::max(scratch_.size(), key.size() + 1));  // never null
  std::byte* to = scratch_.data();
  for (const std::byte byte : key) {
    *to = translation.to[value_of(byte)];
    to += translation.keeps[value_of(byte)];
  }
  return {scratch_.data(), to};
}

std::span<const std::byte> LineEncoder::turned_round(std::span<const std::byte> key) {
  scratch_.assign(key.rbegin(), key.rend());
  return scratch_;
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
    case KeyKind::natural:
      return encode_natural(key, to);
    case KeyKind::random:
      return encode_random(key, random_seed_, to);
    case KeyKind::integer:
      return encode_integer(key, to);
    case KeyKind::number:
      return encode_number(key, to);
    case KeyKind::floating:
      return encode_float(key, to);
    case KeyKind::date:
      return encode_date(key, part.date_format, to);
    case KeyKind::binary_unsigned:
      return encode_unsigned(key, to);
    case KeyKind::binary_signed:
      return encode_signed(key, to);
    case KeyKind::binary_floating:
      return encode_ieee(key, to);
  }
  return to;
}

void LineEncoder::append(std::span<const std::byte> line, GrowingBytes& to) {
  if (fields_ && fields_->is_blank(line)) {
    std::byte* const rank = to.room(1);
    *rank = behind_all_rows;
    to.end_at(rank + 1);
  } else if (fields_) {
    fields_->split(line);
    for (const Part& part : parts_) append_column(part, to);
  } else {
    for (const Part& part : parts_) append_key(extract_key(line, part.key, separator_), part, to);
  }
}

std::uint64_t LineEncoder::about_key_bytes(std::span<const std::byte> line) {
  std::uint64_t bytes = 0;
  if (fields_ && fields_->is_blank(line)) return 1;
  if (fields_) fields_->split(line);
  for (const auto& [key, translation] : parts_) {
    if (!is_of_text(key.kind)) continue;
    bytes += fields_ ? fields_->stored_bytes(key.first_field) : extract_key(line, key, separator_).size();
  }
  return bytes;
}

void LineEncoder::append_key(std::span<const std::byte> key, const Part& part, GrowingBytes& to) {
  if (part.translation) key = translated(key, *part.translation);
  if (part.key.is_little_endian) key = turned_round(key);
  std::byte* const begin = to.room(most_encoded_bytes(part.key.kind, key.size()));
  std::byte* const end = encode(key, part.key, begin);
  if (part.key.descending) std::transform(begin, end, begin, [](std::byte byte) { return ~byte; });
  to.end_at(end);
}

// A byte that puts empty values first or last, then the value if there is one.
void LineEncoder::append_column(const Part& part, GrowingBytes& to) {
  const auto value = fields_->value(part.key.first_field);
  std::byte* const rank = to.room(1);
  *rank = value.empty() != part.key.empty_first ? std::byte{2} : std::byte{1};
  to.end_at(rank + 1);
  if (!value.empty()) append_key(value, part, to);
}

}  // namespace sortcore
