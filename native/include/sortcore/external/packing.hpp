// The choice whether data that does not fit in memory is packed with LZ4 on its way to the scratch files.
//
// It pays where transfers are the bottleneck: packed data is less to write and to read. It costs processor
// time. So unless the user decides, text that shrinks in a sample is packed while processors are idle.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sortcore/clock.hpp"
#include "sortcore/io/lz4.hpp"
#include "sortcore/io/monitor.hpp"

namespace sortcore {

// The user's choice.
enum class Spill : std::uint8_t { automatic, lz4, plain };

enum class Packing : std::uint8_t { never, while_idle, always };

struct PackingChoice {
  Packing packing = Packing::never;
  std::string reason = "not asked for";
};

// Share of a sample that remains after LZ4; nothing for an empty sample or without LZ4.
std::optional<double> packed_share(std::span<const std::byte> sample, const Lz4* lz4);

// `lz4` is null if the system has none, `share` is that of a sample, nothing if none was taken.
PackingChoice choose_packing(Spill asked, const Lz4* lz4, std::optional<double> share);

// Decides continuously whether to pack. To be used with the lock of the clock's monitor.
class PackingSwitch {
 public:
  // `processors` is the number that this sort may use.
  PackingSwitch(Packing packing, unsigned processors) : packing_(packing), processors_(processors) {}

  // From now on `clock` is that of the `threads` computing threads; null: there are none, and the last
  // decision stands.
  void watch(const StageClock* clock, unsigned threads);
  // True if the next chunk is to be packed.
  bool is_on();

  // Decision from the clocks: both shares are of the time of all processors since the last call.
  static bool decide(bool was_on, double waited_share, double unused_share) noexcept;

 private:
  struct Look {
    Clock::time_point at;
    std::uint64_t waited_ns;
    std::uint64_t used_ns;
  };
  Look look() const;

  Packing packing_;
  unsigned processors_;
  const StageClock* clock_ = nullptr;
  unsigned threads_ = 1;
  Look last_{};
  bool is_on_ = false;
};

}  // namespace sortcore
