#include "records/ordering.hpp"

#include <bit>

namespace sortcore {

unsigned bucket_bits_for(std::uint64_t records) noexcept {
  constexpr std::uint64_t records_per_bucket = 8192;
  constexpr unsigned most_bits = 13;
  return std::min(most_bits, static_cast<unsigned>(std::bit_width(records / records_per_bucket)));
}

unsigned useful_threads(std::uint64_t records, unsigned threads) noexcept {
  constexpr std::uint64_t records_per_thread =
      1 << 15;  // starting a thread costs as much as sorting a thousand
  return static_cast<unsigned>(std::clamp<std::uint64_t>(records / records_per_thread, 1, threads));
}

}  // namespace sortcore
