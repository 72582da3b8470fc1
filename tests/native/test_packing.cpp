// Data packed on its way to the scratch files is restored exactly, or not at all.
#include "sortcore/external/packing.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "check.hpp"
#include "random_lines.hpp"
#include "sortcore/io/packed_scratch.hpp"
#include "sortcore/threads.hpp"
#include "temporary_directory.hpp"

namespace {
using namespace sortcore;
namespace fs = std::filesystem;
using lines::Text;

constexpr std::size_t chunk_bytes = 8 * page_bytes;

// Without the library nothing is packed, and there is nothing to test.
const Lz4& lz4() {
  static const Lz4 none = Lz4::load("no such library");
  return Lz4::of_the_system() != nullptr ? *Lz4::of_the_system() : none;
}

// Random bytes, lines that begin alike, or both; in a buffer that direct transfers take.
Buffer random_chunk(std::size_t bytes, RandomSequence& random) {
  Text text;
  while (text.size() < bytes) {
    if (random.below(3) == 0) {
      lines::append_random(text, random.below(bytes), random);
    } else {
      for (int line = 0; line < 100; ++line)
        lines::append_line(text, lines::all_kinds[random.below(8)], random.next(), random);
    }
  }
  Buffer chunk(chunk_bytes);
  std::copy_n(text.begin(), bytes, chunk.data());
  return chunk;
}

bool same(const Buffer& a, const Buffer& b, std::size_t bytes) {
  return std::equal(a.data(), a.data() + bytes, b.data());
}

// The one scratch file that this process has open in a directory.
std::string scratch_file(const TemporaryDirectory& directory) {
  for (const auto& link : fs::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const fs::path file = fs::read_symlink(link.path(), gone);
    if (!gone && file.string().starts_with(directory.path())) return link.path().string();
  }
  return "";
}

void change_byte(const std::string& path, std::uint64_t offset) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(static_cast<std::streamoff>(offset));
  const auto byte = static_cast<char>(file.get() + 1);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(byte);
  CHECK(file.good());
}
}  // namespace

TEST(a_library_that_is_not_there_is_none) {
  CHECK(!Lz4::load("liblz4-of-nobody.so.1").is_there());
  CHECK(!Lz4::load("libc.so.6").is_there());
}

TEST(lz4_gives_back_what_it_took) {
  if (!lz4().is_there()) return;
  RandomSequence random(71);
  for (std::uint64_t round = 0; round < 300 * check::effort(); ++round) {
    const std::size_t bytes = 1 + random.below(chunk_bytes);
    const Buffer chunk = random_chunk(bytes, random);
    Buffer packed(2 * chunk_bytes), back(chunk_bytes);
    const std::size_t taken = lz4().pack(chunk.first(bytes), packed.first(2 * chunk_bytes));
    CHECK(taken > 0);
    CHECK_EQUAL(lz4().pack(chunk.first(bytes), packed.first(taken / 2)), 0U);
    CHECK_EQUAL(lz4().pack(chunk.first(bytes), packed.first(2 * chunk_bytes)), taken);
    CHECK(lz4().unpack(packed.first(taken), back.first(bytes)));
    CHECK(same(chunk, back, bytes));
    CHECK(!lz4().unpack(packed.first(taken - 1), back.first(bytes)));
    CHECK(!lz4().unpack(packed.first(taken), back.first(bytes - 1)));
    if (bytes < chunk_bytes) CHECK(!lz4().unpack(packed.first(taken), back.first(bytes + 1)));
    packed.data()[random.below(taken)] ^= std::byte{0x55};
    lz4().unpack(packed.first(taken), back.first(bytes));  // whatever it returns, it stays within its room
    ++check::cases();
  }
}

THREADED_TEST(chunks_come_back_from_scratch_files_as_they_were) {
  const TemporaryDirectory directory;
  constexpr std::uint64_t threads = 4;
  for (const auto caching : {File::Caching::direct, File::Caching::buffered}) {
    ScratchFiles files({directory.path()}, caching);
    PackedScratch scratch(files, chunk_bytes, Lz4::of_the_system());
    for_each_in_parallel(threads, threads, [&](std::uint64_t thread) {
      RandomSequence random(72 + thread);
      for (int round = 0; round < 40; ++round) {
        const std::size_t bytes = 1 + random.below(chunk_bytes);
        const Buffer chunk = random_chunk(bytes, random);
        const StoredChunk stored = scratch.write(chunk.first(bytes), random.below(8), random.below(3) > 0);
        CHECK(stored.stored_bytes <= bytes);
        Buffer back(chunk_bytes);
        const std::size_t wanted = 1 + random.below(bytes);
        scratch.read_beginning(back.data(), wanted, stored);
        CHECK(same(chunk, back, wanted));
        scratch.read(back.data(), stored);
        CHECK(same(chunk, back, bytes));
        scratch.discard(stored);
      }
    });
    CHECK_EQUAL(scratch.packed_bytes() > 0, lz4().is_there());
    CHECK(scratch.packed_to_bytes() <= scratch.packed_bytes() / 8 * 7);
  }
}

TEST(what_does_not_shrink_or_is_not_to_be_packed_is_plain) {
  const TemporaryDirectory directory;
  ScratchFiles files({directory.path()}, File::Caching::buffered);
  PackedScratch scratch(files, chunk_bytes, Lz4::of_the_system());
  PackedScratch without(files, chunk_bytes, nullptr);
  RandomSequence random(73);
  Text noise;
  lines::append_random(noise, chunk_bytes, random);
  const Text zeros(chunk_bytes);
  CHECK(!scratch.write(noise, 0, true).is_packed());
  CHECK(!scratch.write(zeros, 0, false).is_packed());
  CHECK(!without.write(zeros, 0, true).is_packed());
  CHECK_EQUAL(scratch.write(zeros, 0, true).is_packed(), lz4().is_there());
  CHECK(!scratch.write(std::span(zeros).first(page_bytes), 0, true).is_packed());  // a page is the least
}

TEST(a_damaged_chunk_is_an_error_that_names_the_scratch_file) {
  if (!lz4().is_there()) return;
  const TemporaryDirectory directory;
  ScratchFiles files({directory.path()}, File::Caching::buffered);
  PackedScratch scratch(files, chunk_bytes, Lz4::of_the_system());
  RandomSequence random(74);
  for (int round = 0; round < 50; ++round) {
    Text text;
    while (text.size() < chunk_bytes - 400)
      lines::append_line(text, lines::Kind::common_beginning, 0, random);
    const StoredChunk stored = scratch.write(text, 0, true);
    CHECK(stored.is_packed());
    Buffer back(chunk_bytes);
    scratch.read(back.data(), stored);
    change_byte(scratch_file(directory), stored.extent.offset + random.below(stored.stored_bytes));
    try {
      scratch.read(back.data(), stored);
      CHECK(false);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::io);
      CHECK(error.path().find(directory.path()) != std::string::npos);
      CHECK_EQUAL(error.offset(), static_cast<std::int64_t>(stored.extent.offset));
      CHECK(std::string(error.what()).find("not what was written") != std::string::npos);
    }
  }
  const StoredChunk stored = scratch.write(Text(chunk_bytes), 0, true);
  fs::resize_file(scratch_file(directory), stored.extent.offset);
  Buffer back(chunk_bytes);
  CHECK_THROWS(io, scratch.read(back.data(), stored));
}

TEST(packing_is_chosen_from_what_is_asked_for_and_a_sample) {
  const Lz4 some = lz4();
  const auto chosen = [&](Spill asked, const Lz4* library, std::optional<double> share) {
    return choose_packing(asked, library, share).packing;
  };
  CHECK(chosen(Spill::automatic, &some, 0.4) == Packing::while_idle);
  CHECK(chosen(Spill::automatic, &some, 0.9) == Packing::never);
  CHECK(chosen(Spill::automatic, &some, std::nullopt) == Packing::never);
  CHECK(chosen(Spill::lz4, &some, 0.9) == Packing::always);
  CHECK(chosen(Spill::plain, &some, 0.1) == Packing::never);
  for (const Spill asked : {Spill::automatic, Spill::lz4}) {
    CHECK(chosen(asked, nullptr, 0.1) == Packing::never);
    CHECK(choose_packing(asked, nullptr, 0.1).reason.find("liblz4.so.1") != std::string::npos);
  }
}

TEST(a_sample_tells_what_lz4_leaves) {
  CHECK(!packed_share({}, Lz4::of_the_system()));
  CHECK(!packed_share(Text(10), nullptr));
  if (!lz4().is_there()) return;
  CHECK(*packed_share(Text(chunk_bytes), &lz4()) < 0.1);
  RandomSequence random(75);
  Text noise;
  lines::append_random(noise, chunk_bytes, random);
  CHECK_EQUAL(*packed_share(noise, &lz4()), 1.0);
}

TEST(packing_begins_when_much_is_idle_and_ends_when_nothing_is) {
  CHECK(PackingSwitch::decide(false, 0.8, 0.9));
  CHECK(!PackingSwitch::decide(false, 0.8, 0.6));  // a quick disk: packing would need the processors in use
  CHECK(!PackingSwitch::decide(false, 0.8, 0.1));  // they wait for a thread that works
  CHECK(!PackingSwitch::decide(false, 0.1, 0.9));  // other processes have the processors
  CHECK(PackingSwitch::decide(true, 0.1, 0.6));    // it helps, so fewer wait
  CHECK(!PackingSwitch::decide(true, 0.8, 0.4));
  CHECK(!PackingSwitch::decide(true, 0.01, 0.9));
  CHECK(!PackingSwitch::decide(true, 0.5, -0.5));
}

TEST(the_switch_follows_waits_that_are_not_over) {
  Monitor monitor(nullptr);
  StageClock clock;
  CHECK(PackingSwitch(Packing::always, 1).is_on());
  CHECK(!PackingSwitch(Packing::never, 1).is_on());
  PackingSwitch packing(Packing::while_idle, 1);
  CHECK(!packing.is_on());
  packing.watch(&clock, 1);
  {
    const WaitTimer waits(clock);
    ::usleep(200'000);
    CHECK(packing.is_on());  // no other thread works in this process
  }
  packing.watch(nullptr, 0);
  CHECK(packing.is_on());
  packing.watch(&clock, 1);
  ::usleep(200'000);
  CHECK(!packing.is_on());  // no thread waited meanwhile
}
