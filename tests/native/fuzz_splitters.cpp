// Any bytes are either splitters that are stored as the same bytes again, or refused.
#include <algorithm>
#include <cstdlib>
#include <span>

#include "sortcore/error.hpp"
#include "sortcore/records/splitters.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  for (const std::uint32_t key_bytes : {0U, 1U, 3U, 10U}) {
    try {
      const sortcore::Splitters splitters = sortcore::parse_splitters(bytes, key_bytes);
      if (!std::ranges::equal(sortcore::serialize_splitters(splitters), bytes)) std::abort();
    } catch (const sortcore::Error& error) {
      const bool is_refused = error.code() == sortcore::ErrorCode::bad_record;
      if (!is_refused && error.code() != sortcore::ErrorCode::bad_input) std::abort();
    }
  }
  return 0;
}

std::uint64_t usual_runs() { return 50'000; }

// Seeds of the mutation driver.
std::vector<std::vector<std::byte>> seeds() {
  std::vector<std::byte> sample;
  for (unsigned i = 0; i < 300; ++i) sample.push_back(static_cast<std::byte>(i < 100 ? 7 : i * 37));
  return {sortcore::serialize_splitters(sortcore::choose_splitters(sample, 1, 5)),
          sortcore::serialize_splitters(sortcore::choose_splitters(sample, 3, 4)),
          sortcore::serialize_splitters(sortcore::choose_splitters(sample, 10, 6))};
}
