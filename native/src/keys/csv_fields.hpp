// A row of CSV, split into its fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sortcore/keys/key_order.hpp"

namespace sortcore {

class CsvFields {
 public:
  explicit CsvFields(const CsvFormat& format) : format_(format), ends_(format.columns) {}

  bool is_blank(std::span<const std::byte> row) const noexcept { return format_.is_blank(row); }
  // `row` comes without its newline and must stay valid. Throws Error(bad_record) for a wrong number of
  // fields, and for quotes that violate RFC 4180.
  void split(std::span<const std::byte> row);
  // The value of a field, without quotes; valid until the next call.
  std::span<const std::byte> value(std::uint64_t column);
  // Size of a field as stored in the row.
  std::size_t stored_bytes(std::uint64_t column) const noexcept { return raw(column).size(); }

 private:
  std::span<const std::byte> raw(std::uint64_t column) const noexcept;
  bool is_quoted_well(std::span<const std::byte> field) const noexcept;
  void check_quotes() const;

  CsvFormat format_;
  std::span<const std::byte> row_;
  std::vector<std::size_t> ends_;  // of the fields
  std::vector<std::byte> unquoted_;
};

}  // namespace sortcore
