// Drives a fuzz target without libFuzzer, the same way every time: fuzz_x [SECONDS] mutates the target's
// seeds for SECONDS, or for the target's own number of rounds.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "random_sequence.hpp"
#include "sortcore/validation/crc32.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);
std::vector<std::vector<std::byte>> seeds();
std::uint64_t usual_runs();

namespace {
using sortcore::RandomSequence;
using Bytes = std::vector<std::byte>;

void mutate_once(Bytes& bytes, RandomSequence& random) {
  const std::size_t at = bytes.empty() ? 0 : random.below(bytes.size());
  const auto where = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (random.below(6)) {
    case 0:
      if (!bytes.empty()) *where = static_cast<std::byte>(random.next());
      break;
    case 1:
      if (!bytes.empty()) *where ^= static_cast<std::byte>(1U << random.below(8));
      break;
    case 2:
      if (!bytes.empty()) *where = random.below(2) == 0 ? std::byte{0} : std::byte{0xff};
      break;
    case 3:
      bytes.insert(where, static_cast<std::byte>(random.next()));
      break;
    case 4:
      if (!bytes.empty()) bytes.erase(where);
      break;
    default:
      bytes.resize(at);
  }
}

// Lets mutations of checked formats pass the check: many formats end in the CRC-32 of the preceding bytes.
void repair_checksum(Bytes& bytes) {
  if (bytes.size() < 4) return;
  const std::uint32_t crc = sortcore::crc32(std::span(bytes).first(bytes.size() - 4));
  for (std::size_t i = 0; i < 4; ++i) bytes[bytes.size() - 4 + i] = static_cast<std::byte>(crc >> (8 * i));
}
}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 0;
  const auto began = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  };
  const std::vector<Bytes> starts = seeds();
  RandomSequence random(1);
  std::uint64_t runs = 0;
  for (; seconds > 0 ? elapsed() < seconds : runs < usual_runs(); ++runs) {
    Bytes bytes = starts[random.below(starts.size())];
    for (std::uint64_t left = random.below(6); left != 0; --left) mutate_once(bytes, random);
    if (random.below(2) == 0) repair_checksum(bytes);
    LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  std::cout << runs << " inputs\n";
}
