// Any bytes are either a summary that is stored as the same bytes again, or refused.
#include <algorithm>
#include <cstdlib>
#include <span>

#include "sortcore/error.hpp"
#include "sortcore/validation/validate.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  try {
    const sortcore::Summary summary = sortcore::parse_summary(bytes);
    if (!std::ranges::equal(sortcore::serialize_summary(summary), bytes)) std::abort();
  } catch (const sortcore::Error& error) {
    if (error.code() != sortcore::ErrorCode::bad_record) std::abort();
  }
  return 0;
}

std::uint64_t usual_runs() { return 50'000; }

// Seeds of the mutation driver.
std::vector<std::vector<std::byte>> seeds() {
  const sortcore::RecordFormat format{.record_bytes = 5, .key_offset = 1, .key_bytes = 3};
  const std::vector<std::byte> records(25, std::byte{3});
  return {sortcore::serialize_summary(sortcore::Summary(format)),
          sortcore::serialize_summary(sortcore::validate_records(records, format))};
}
