// A histogram of operation latencies, to within 3%, in a table of fixed size.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sortcore {

// Each power of two of nanoseconds is divided into 32 equal buckets; the first 32 ns have one each.
class LatencyHistogram {
 public:
  static constexpr unsigned precision_bits = 5;
  static constexpr std::size_t buckets = (64 - precision_bits + 1) << precision_bits;

  void add(std::uint64_t ns) noexcept {
    ++counts_[bucket_of(ns)];
    ++operations_;
    total_ns_ += ns;
  }
  void merge(const LatencyHistogram& other) noexcept {
    for (std::size_t i = 0; i < buckets; ++i) counts_[i] += other.counts_[i];
    operations_ += other.operations_;
    total_ns_ += other.total_ns_;
  }

  std::uint64_t operations() const noexcept { return operations_; }
  std::uint64_t total_ns() const noexcept { return total_ns_; }
  std::uint64_t count(std::size_t bucket) const noexcept { return counts_[bucket]; }

  static constexpr std::size_t bucket_of(std::uint64_t ns) noexcept {
    const auto power = static_cast<unsigned>(std::bit_width(ns >> precision_bits));
    if (power == 0) return static_cast<std::size_t>(ns);
    const unsigned shift = power - 1;
    return (std::size_t{power} << precision_bits) + static_cast<std::size_t>(ns >> shift) -
           (std::size_t{1} << precision_bits);
  }
  // The largest value that falls into a bucket.
  static constexpr std::uint64_t upper_ns(std::size_t bucket) noexcept {
    const std::size_t power = bucket >> precision_bits;
    if (power == 0) return bucket;
    const std::uint64_t within = bucket & ((std::size_t{1} << precision_bits) - 1);
    const std::uint64_t first = within + (std::uint64_t{1} << precision_bits);
    return ((first + 1) << (power - 1)) - 1;
  }
  // The upper end of the bucket that holds quantile `q` (0 to 1) of all operations; 0 without any.
  std::uint64_t quantile_ns(double q) const noexcept {
    std::uint64_t seen = 0;
    const double wanted = q * static_cast<double>(operations_);
    for (std::size_t i = 0; i < buckets; ++i) {
      seen += counts_[i];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return upper_ns(i);
    }
    return 0;
  }

 private:
  std::array<std::uint64_t, buckets> counts_{};
  std::uint64_t operations_ = 0;
  std::uint64_t total_ns_ = 0;
};

}  // namespace sortcore
