#include "sortcore/records/record_format.hpp"

#include "sortcore/error.hpp"

namespace sortcore {

void RecordFormat::check() const {
  if (record_bytes == 0) throw Error(ErrorCode::bad_input, "a record must have at least one byte");
  if (key_bytes == 0) throw Error(ErrorCode::bad_input, "a key must have at least one byte");
  if (key_bytes > record_bytes || key_offset > record_bytes - key_bytes) {
    throw Error(ErrorCode::bad_input, "a key of " + std::to_string(key_bytes) + " bytes at offset " +
                                          std::to_string(key_offset) + " does not lie within a record of " +
                                          std::to_string(record_bytes) + " bytes");
  }
}

std::uint64_t RecordFormat::whole_records(std::uint64_t bytes, const std::string& path) const {
  if (bytes % record_bytes == 0) return bytes / record_bytes;
  std::string message = (path.empty() ? std::string("the buffer") : path) + " holds " +
                        std::to_string(bytes) + " bytes, which is no whole number of records of " +
                        std::to_string(record_bytes) + " bytes: " + std::to_string(bytes % record_bytes) +
                        " are left over";
  throw Error(ErrorCode::bad_record, std::move(message), path,
              static_cast<std::int64_t>(bytes - bytes % record_bytes));
}

}  // namespace sortcore
