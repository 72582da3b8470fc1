#include "keys/csv_fields.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "byte_mask.hpp"
#include "sortcore/error.hpp"

namespace sortcore {
namespace {

std::string fields_in_words(std::uint64_t fields) {
  return std::to_string(fields) + (fields == 1 ? " field" : " fields");
}

}  // namespace

void CsvFields::split(std::span<const std::byte> row) {
  if (!row.empty() && row.back() == std::byte{'\r'}) row = row.first(row.size() - 1);
  row_ = row;
  std::uint64_t fields = 0;
  bool has_quotes = false, is_within = false;
  for_each_block(row.data(), row.data() + row.size(),
                 [&](const std::byte* block, std::size_t first, std::size_t) {
                   std::uint64_t delimiters = mask_of(block, format_.delimiter);
                   if (const std::uint64_t quotes = mask_of(block, format_.quote); quotes != 0 || is_within) {
                     has_quotes = true;
                     const std::uint64_t quoted = odd_so_far(quotes) ^ (is_within ? ~std::uint64_t{0} : 0);
                     is_within = (quoted >> 63) != 0;
                     delimiters &= ~quoted;
                   }
                   for (; delimiters != 0; delimiters &= delimiters - 1, ++fields)
                     if (fields < ends_.size())
                       ends_[fields] = first + static_cast<std::size_t>(std::countr_zero(delimiters));
                   return true;
                 });
  if (++fields != ends_.size())
    throw Error(ErrorCode::bad_record,
                fields_in_words(fields) + " where the first row has " + std::to_string(ends_.size()));
  ends_.back() = row.size();
  if (has_quotes) check_quotes();
}

std::span<const std::byte> CsvFields::raw(std::uint64_t column) const noexcept {
  const std::size_t begin = column == 0 ? 0 : ends_[column - 1] + 1;
  return row_.subspan(begin, ends_[column] - begin);
}

// Either no quotes, or one at each end and pairs of them between.
bool CsvFields::is_quoted_well(std::span<const std::byte> field) const noexcept {
  if (field.empty() || field.front() != format_.quote)
    return std::ranges::find(field, format_.quote) == field.end();
  if (field.size() < 2 || field.back() != format_.quote) return false;
  const auto inner = field.subspan(1, field.size() - 2);
  for (std::size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != format_.quote) continue;
    if (++i == inner.size() || inner[i] != format_.quote) return false;
  }
  return true;
}

void CsvFields::check_quotes() const {
  for (std::uint64_t column = 0; column < ends_.size(); ++column) {
    if (!is_quoted_well(raw(column)))
      throw Error(ErrorCode::bad_record,
                  "field " + std::to_string(column + 1) +
                      " has a quote that neither encloses the field nor is doubled within it");
  }
}

std::span<const std::byte> CsvFields::value(std::uint64_t column) {
  const auto field = raw(column);
  if (field.empty() || field.front() != format_.quote) return field;
  const auto inner = field.subspan(1, field.size() - 2);
  if (std::ranges::find(inner, format_.quote) == inner.end()) return inner;
  unquoted_.clear();
  for (std::size_t i = 0; i < inner.size(); ++i) {
    unquoted_.push_back(inner[i]);
    if (inner[i] == format_.quote) ++i;
  }
  return unquoted_;
}

}  // namespace sortcore
