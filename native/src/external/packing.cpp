#include "sortcore/external/packing.hpp"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "sortcore/buffer.hpp"

namespace sortcore {
namespace {

constexpr double packs_well_share = 0.8;  // of a chunk; unpacking takes time, too
// Writing a chunk takes milliseconds, so that a shorter interval would show little.
constexpr std::chrono::milliseconds between_looks{50};
// To begin: packing and unpacking take about the time that a fast disk needs for the bytes saved, so it pays
// only where most of the processors' time is free, and half of the computing threads wait.
constexpr double waited_enough = 0.5;
constexpr double unused_enough = 0.75;
// To go on: waits become fewer because packing helps, so few of them are no reason to end it.
constexpr double waited_too_little = 0.02;
constexpr double unused_too_little = 0.5;

std::uint64_t used_by_process_ns() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
}

std::string in_percent(double share) {
  char words[16];
  std::snprintf(words, sizeof words, "%.0f%%", 100 * share);
  return words;
}

}  // namespace

std::optional<double> packed_share(std::span<const std::byte> sample, const Lz4* lz4) {
  if (sample.empty() || lz4 == nullptr) return std::nullopt;
  Buffer packed(sample.size());
  const std::size_t bytes = lz4->pack(sample, packed.first(sample.size()));
  return bytes == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(sample.size());
}

PackingChoice choose_packing(Spill asked, const Lz4* lz4, std::optional<double> share) {
  if (asked == Spill::plain) return {Packing::never, "asked for"};
  if (lz4 == nullptr) return {Packing::never, "this system has no LZ4 (the library liblz4.so.1)"};
  if (asked == Spill::lz4) return {Packing::always, "asked for"};
  if (!share) return {Packing::never, "records are packed only if that is asked for"};
  if (*share > packs_well_share)
    return {Packing::never, "LZ4 leaves " + in_percent(*share) + " of a sample, which is too much"};
  return {Packing::while_idle,
          "LZ4 leaves " + in_percent(*share) + " of a sample; packed while processors wait for disks"};
}

void PackingSwitch::watch(const StageClock* clock, unsigned threads) {
  clock_ = clock;
  threads_ = threads;
  if (clock != nullptr) last_ = look();
}

PackingSwitch::Look PackingSwitch::look() const {
  const auto now = Clock::now();
  return {now, clock_->waited_until(now), used_by_process_ns()};
}

// Computing threads may wait for one that brings fresh memory: then they wait and no processor is idle. Or
// other processes take the processors: then much seems unused and no thread waits.
bool PackingSwitch::decide(bool was_on, double waited_share, double unused_share) noexcept {
  return waited_share > (was_on ? waited_too_little : waited_enough) &&
         unused_share > (was_on ? unused_too_little : unused_enough);
}

bool PackingSwitch::is_on() {
  if (packing_ != Packing::while_idle) return packing_ == Packing::always;
  if (clock_ == nullptr || Clock::now() - last_.at < between_looks) return is_on_;
  const Look now = look();
  const auto elapsed_ns =
      static_cast<double>(std::chrono::duration_cast<std::chrono::nanoseconds>(now.at - last_.at).count());
  const double waited = static_cast<double>(now.waited_ns - last_.waited_ns) / (threads_ * elapsed_ns);
  const double used = static_cast<double>(now.used_ns - last_.used_ns) / (processors_ * elapsed_ns);
  is_on_ = decide(is_on_, waited, 1 - used);
  last_ = now;
  return is_on_;
}

}  // namespace sortcore
