// Threads that wait for memory continue: random capacities, fillings and records, under a watchdog.
#include "sortcore/external/chunk_store.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "check.hpp"
#include "shapes.hpp"
#include "sortcore/external/two_passes.hpp"
#include "sortcore/validation/validate.hpp"
#include "temporary_directory.hpp"
#include "watchdog.hpp"

namespace {
using namespace sortcore;
using Partition = ChunkStore::Partition;
using Numbers = std::multiset<std::uint64_t>;  // contents of test chunks

constexpr std::uint64_t usual_rounds = check::only_threaded ? 30 : check::sanitized ? 100 : 300;

// Long enough to expose a thread that is not woken when it should be.
constexpr std::chrono::seconds looks_again{20};

enum class Way { take, take_any, drain };

constexpr std::size_t chunk_bytes = 3 * page_bytes;  // one page packs to no less

// Half of the chunks shrink.
std::byte byte_at(std::uint64_t number, std::size_t place) {
  return static_cast<std::byte>(number % 2 == 0 ? number : RandomSequence::mix(number * chunk_bytes + place));
}

// Chunks for some partitions go through a small store, as in the two passes.
class Passage {
 public:
  Passage(const std::string& directory, Progress& progress, RandomSequence& random)
      : random_(random),
        monitor_(&progress, looks_again),
        scratch_({directory}, File::Caching::direct),
        plan_(random_plan(random)),
        store_(monitor_, scratch_, plan_) {
    for (std::size_t i = 0; i < plan_.partitions; ++i) {
      store_.add_partition();
      ways_.push_back(static_cast<Way>(random.below(3)));
    }
  }

  void fill() {
    store_.start_spilling(random_.below(4 * plan_.chunks));
    ThreadGroup group(monitor_);
    group.start(plan_.queue_depth, [&] { store_.spill_while_needed(clock_); });
    group.start(1, [&] { store_.touch_ahead(); });
    group.start(1, [&] {
      for (std::uint64_t left = random_.below(4 * plan_.chunks); left > 0; --left) fill_one(left);
      store_.stop_spilling();
    });
    group.join();
  }

  void empty() {
    std::vector<Partition> order;
    for (Partition i = 0; i < ways_.size(); ++i)
      if (ways_[i] != Way::drain) order.push_back(i);
    store_.begin_loading(order);
    ThreadGroup group(monitor_);
    group.start(plan_.queue_depth, [&] { store_.load_all(clock_); });
    group.start(1, [&] {
      for (Partition i = 0; i < ways_.size(); ++i) CHECK(numbers_in(i) == filled_[i]);
    });
    group.join();
    CHECK_EQUAL(monitor_.counts().late_wakes, 0U);
  }

 private:
  static ExternalPlan random_plan(RandomSequence& random) {
    ExternalPlan plan;
    plan.chunk_bytes = chunk_bytes;
    plan.packing = random.below(2) == 0 ? Packing::never : Packing::always;
    plan.pack_buffers = plan.packing == Packing::never ? 0 : 1;
    plan.low_water_chunks = 1 + random.below(2);
    plan.chunks = plan.low_water_chunks + 1 + random.below(random.below(3) == 0 ? 8 : 2);
    plan.partitions = 2 + random.below(3);
    plan.queue_depth = static_cast<unsigned>(1 + random.below(4));
    return plan;
  }

  // `take` needs room for the whole partition; the others do not.
  void fill_one(std::uint64_t number) {
    const auto to = static_cast<Partition>(random_.below(ways_.size()));
    if (ways_[to] == Way::take && filled_[to].size() == plan_.chunks) return;
    const ChunkStore::Chunk chunk = store_.acquire(clock_);
    const auto bytes = static_cast<std::uint32_t>(sizeof number + random_.below(chunk_bytes - sizeof number));
    for (std::size_t i = 0; i < bytes; ++i) store_.data(chunk)[i] = byte_at(number, i);
    std::memcpy(store_.data(chunk), &number, sizeof number);
    store_.add(to, {chunk, bytes, static_cast<std::uint32_t>(filled_[to].size())});
    filled_[to].insert(number);
  }

  Numbers numbers_in(Partition partition) {
    Numbers numbers;
    const auto note = [&](const std::byte* data, std::size_t bytes) {
      std::uint64_t number = 0;
      std::memcpy(&number, data, sizeof number);
      numbers.insert(number);
      for (std::size_t i = sizeof number; i < bytes; ++i)
        if (data[i] != byte_at(number, i)) check::fail(__FILE__, __LINE__, "a chunk has changed");
    };
    if (ways_[partition] == Way::take) {
      const auto chunks = store_.take(partition, clock_);
      for (const auto& filled : chunks) note(store_.data(filled.chunk), filled.bytes);
      for (const auto& filled : chunks) store_.release(filled.chunk);
    } else if (ways_[partition] == Way::take_any) {
      while (const auto filled = store_.take_any(partition, clock_)) {
        note(store_.data(filled->chunk), filled->bytes);
        store_.release(filled->chunk);
      }
    } else {
      Buffer buffer(chunk_bytes);
      while (const auto drained = store_.drain(partition, buffer.data(), clock_, true))
        note(buffer.data(), drained->bytes);
    }
    return numbers;
  }

  RandomSequence& random_;
  Monitor monitor_;
  ScratchFiles scratch_;
  ExternalPlan plan_;
  ChunkStore store_;
  StageClock clock_;
  std::vector<Way> ways_;
  std::map<Partition, Numbers> filled_;
};

// Memory divided as by `plan_two_passes`, which would not go as low: twice the chunks being filled, and a
// partition may have from a third to three fifths of them.
ExternalPlan tiny_plan(const RecordFormat& format, RandomSequence& random) {
  ExternalPlan plan;
  plan.threads = static_cast<unsigned>(1 + random.below(2));
  plan.queue_depth = static_cast<unsigned>(1 + random.below(3));
  plan.stable = random.below(2) == 0;
  plan.packing = random.below(2) == 0 ? Packing::never : Packing::always;
  plan.pack_buffers = plan.packing == Packing::never ? 0 : 2 * plan.queue_depth;
  plan.grain_bytes = format.record_bytes;
  plan.chunk_bytes = format.record_bytes * (1 + random.below(5'000) / format.record_bytes);
  plan.block_bytes = 4 * plan.chunk_bytes;
  plan.blocks = plan.threads + 2 * plan.queue_depth + 2;
  plan.partitions = 1 + random.below(8);
  plan.low_water_chunks = plan.queue_depth + plan.threads;
  plan.chunks = 2 * (plan.partitions * plan.threads + 2 * plan.low_water_chunks) + random.below(10);
  plan.partition_limit_bytes = plan.chunks * plan.chunk_bytes * 3 / (5 + random.below(5));
  return plan;
}

void sort_records(const TemporaryDirectory& directory, const shapes::Bytes& records,
                  const RecordFormat& format, const ExternalPlan& plan, Progress& progress) {
  std::ofstream(directory / "in", std::ios::binary)
      .write(reinterpret_cast<const char*>(records.data()), static_cast<std::streamsize>(records.size()));
  File input = File::open_to_read(directory / "in", File::Caching::buffered);
  SortReport report;
  report.input_bytes = records.size();
  std::vector<OutputFile> outputs;
  outputs.emplace_back(directory / "out", File::Caching::buffered);
  ScratchFiles scratch({directory.path()}, File::Caching::buffered);
  FilesSource source({InputFile{&input, records.size()}}, format, plan);
  sort_in_two_passes(source, format, outputs, scratch, plan, &progress, report);
  shapes::Bytes sorted(outputs.front().size());
  if (!sorted.empty()) outputs.front().file().read_exactly(sorted.data(), sorted.size(), 0);
  const Summary before = validate_records(records, format), after = validate_records(sorted, format);
  CHECK(after.unordered == 0 && after.checksum == before.checksum && sorted.size() == records.size());
}
}  // namespace

THREADED_TEST(chunks_pass_through_any_store) {
  RandomSequence random(61);
  const TemporaryDirectory directory;
  Watchdog watchdog;
  for (std::uint64_t round = 0; round < usual_rounds * check::effort(); ++round) {
    Progress progress;
    watchdog.watch(&progress);
    {
      Passage passage(directory.path(), progress, random);
      passage.fill();
      passage.empty();
    }
    watchdog.watch(nullptr);
    ++check::cases();
  }
}

// Where the keys of a sample say little, most records meet in one partition, which is split again and again.
THREADED_TEST(records_pass_through_little_memory) {
  RandomSequence random(62);
  const TemporaryDirectory directory;
  Watchdog watchdog;
  for (std::uint64_t round = 0; round < usual_rounds / 10 * check::effort(); ++round) {
    const RecordFormat format = shapes::random_format(random);
    const ExternalPlan plan = tiny_plan(format, random);
    const std::uint64_t most = 8 * plan.partition_limit_bytes / format.record_bytes + 2;
    const shapes::Bytes records =
        shapes::random_records(format, random.below(most), shapes::all_keys[round % 9], random);
    Progress progress;
    watchdog.watch(&progress);
    sort_records(directory, records, format, plan, progress);
    watchdog.watch(nullptr);
    ++check::cases();
  }
}
