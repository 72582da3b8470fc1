#include "keys/csv_fields.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "byte_mask.hpp"
#include "counted.hpp"
#include "sortcore/error.hpp"

namespace sortcore {
namespace {

// Follows the quotes of a row, 64 bytes at a time, as bits. An opening quote stands where a field begins, or
// just after a closing one, with which it is a quote in the text; a closing quote is followed by a field's
// end or another quote.
class QuoteWatch {
 public:
  // Returns the delimiters that are not within quotes.
  std::uint64_t without_quoted(std::uint64_t delimiters, std::uint64_t quotes, std::size_t bytes) noexcept {
    if (quotes == 0 && !is_within_ && !follows_close_) {
      may_open_ = (delimiters >> 63) != 0;
      return delimiters;
    }
    const std::uint64_t quoted = odd_so_far(quotes) ^ (is_within_ ? ~std::uint64_t{0} : 0);
    const std::uint64_t ends = delimiters & ~quoted, closing = quotes & ~quoted;
    const std::uint64_t behind_row = bytes < mask_bytes ? ~std::uint64_t{0} << bytes : 0;
    misplaced_ |= quotes & quoted & ~((ends | quotes) << 1 | std::uint64_t{may_open_});
    misplaced_ |= (closing << 1 | std::uint64_t{follows_close_}) & ~(ends | quotes | behind_row);
    is_within_ = (quoted >> 63) != 0;
    may_open_ = ((ends | quotes) >> 63) != 0;
    follows_close_ = (closing >> 63) != 0;
    return ends;
  }
  bool has_misplaced() const noexcept { return misplaced_ != 0; }

 private:
  bool is_within_ = false, may_open_ = true, follows_close_ = false;
  std::uint64_t misplaced_ = 0;
};

// Finds the fields of a row from masks of its bytes, 64 at a time.
class FieldEnds {
 public:
  explicit FieldEnds(std::span<std::size_t> ends) : ends_(ends) {}

  void take(std::uint64_t delimiters, std::uint64_t quotes, std::size_t first, std::size_t bytes) noexcept {
    delimiters = watch_.without_quoted(delimiters, quotes, bytes);
    for (; delimiters != 0; delimiters &= delimiters - 1, ++found_)
      if (found_ < ends_.size())
        ends_[found_] = first + static_cast<std::size_t>(std::countr_zero(delimiters));
  }
  std::uint64_t found() const noexcept { return found_; }
  bool has_misplaced_quotes() const noexcept { return watch_.has_misplaced(); }

 private:
  std::span<std::size_t> ends_;
  std::uint64_t found_ = 0;
  QuoteWatch watch_;
};

void find_ends_portably(std::span<const std::byte> row, const CsvFormat& format, FieldEnds& ends) noexcept {
  for_each_block(row.data(), row.data() + row.size(),
                 [&](const std::byte* block, std::size_t first, std::size_t bytes) {
                   ends.take(mask_of(block, format.delimiter), mask_of(block, format.quote), first, bytes);
                   return true;
                 });
}

#if defined(__x86_64__)

// A load of the rest of a row reads nothing after it.
SORTCORE_AVX512 void find_ends_with_avx512(std::span<const std::byte> row, const CsvFormat& format,
                                           FieldEnds& ends) noexcept {
  const __m512i delimiter = _mm512_set1_epi8(static_cast<char>(format.delimiter));
  const __m512i quote = _mm512_set1_epi8(static_cast<char>(format.quote));
  for (std::size_t first = 0; first < row.size(); first += mask_bytes) {
    const std::size_t bytes = std::min(mask_bytes, row.size() - first);
    const __mmask64 there = ~std::uint64_t{0} >> (mask_bytes - bytes);
    const __m512i block = _mm512_maskz_loadu_epi8(there, row.data() + first);
    ends.take(_mm512_mask_cmpeq_epi8_mask(there, block, delimiter),
              _mm512_mask_cmpeq_epi8_mask(there, block, quote), first, bytes);
  }
}

#endif

void find_ends(std::span<const std::byte> row, const CsvFormat& format, FieldEnds& ends) noexcept {
#if defined(__x86_64__)
  if (has_avx512()) return find_ends_with_avx512(row, format, ends);
#endif
  find_ends_portably(row, format, ends);
}

}  // namespace

void CsvFields::split(std::span<const std::byte> row) {
  if (!row.empty() && row.back() == std::byte{'\r'}) row = row.first(row.size() - 1);
  row_ = row;
  FieldEnds ends(ends_);
  find_ends(row, format_, ends);
  const std::uint64_t fields = ends.found() + 1;
  if (fields != ends_.size())
    throw Error(ErrorCode::bad_record,
                counted(fields, "field") + " where the first row has " + std::to_string(ends_.size()));
  ends_.back() = row.size();
  if (ends.has_misplaced_quotes()) check_quotes();
}

std::span<const std::byte> CsvFields::raw(std::uint64_t column) const noexcept {
  const std::size_t begin = column == 0 ? 0 : ends_[column - 1] + 1;
  return row_.subspan(begin, ends_[column] - begin);
}

// True for no quotes, or one at each end and pairs of them between.
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

// Throws for the field with the misplaced quote.
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
  if (field.size() < 2 || field.front() != format_.quote) return field;  // 1: the text has changed
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
