// The choice whether data that memory cannot hold is packed with LZ4 on its way to the scratch files.
//
// It pays where transfers bind: packed data is less to write and to read. It costs time of the processors. So
// unless the user decides, text that a sample shows to shrink is packed while processors have nothing to do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "sortcore/clock.hpp"
#include "sortcore/io/lz4.hpp"
#include "sortcore/io/monitor.hpp"

namespace sortcore {

// What the user asks for.
enum class Spill : std::uint8_t { automatic, lz4, plain };

enum class Packing : std::uint8_t { never, while_idle, always };

struct PackingChoice {
  Packing packing = Packing::never;
  std::string reason = "not asked for";
};

// What LZ4 leaves of a sample, as a share of it; nothing of an empty sample or without LZ4.
std::optional<double> packed_share(std::span<const std::byte> sample, const Lz4* lz4);

// `lz4` is null where the system has none, `share` is that of a sample, nothing where none was taken.
PackingChoice choose_packing(Spill asked, const Lz4* lz4, std::optional<double> share);

// Tells from moment to moment whether to pack. To be used with the lock of the clock's monitor.
class PackingSwitch {
 public:
  // `processors` are those that this sort may use.
  PackingSwitch(Packing packing, unsigned processors) : packing_(packing), processors_(processors) {}

  // From now on `clock` is that of the `threads` threads that compute; null: nobody does, and what was
  // decided last stays.
  void watch(const StageClock* clock, unsigned threads);
  // Whether the next chunk is to be packed.
  bool is_on();

  // What a look at the clocks decides: both shares are of the time of all processors since the last look.
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
