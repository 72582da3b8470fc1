// Threads that wait for memory continue: random capacities, fillings and line lengths, under a watchdog.
#include "sortcore/external/chunk_store.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "check.hpp"
#include "random_lines.hpp"
#include "sortcore/external/item_type.hpp"
#include "sortcore/external/line_source.hpp"
#include "sortcore/external/two_passes.hpp"
#include "sortcore/lines/line_sort.hpp"
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
    store_.watch(&clock_, 1);
    ThreadGroup group(monitor_);
    group.start(plan_.queue_depth, [&] { store_.spill_while_needed(clock_); });
    group.start(1, [&] { store_.touch_ahead(); });
    group.start(1, [&] {
      for (std::uint64_t left = random_.below(4 * plan_.chunks); left > 0; --left) fill_one(left);
      store_.stop_spilling();
    });
    group.join();
    store_.watch(nullptr, 0);
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
    plan.packing = static_cast<Packing>(random.below(3));
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
ExternalPlan tiny_plan(RandomSequence& random) {
  ExternalPlan plan;
  plan.threads = static_cast<unsigned>(1 + random.below(2));
  plan.queue_depth = static_cast<unsigned>(1 + random.below(3));
  plan.stable = random.below(2) == 0;
  plan.packing = static_cast<Packing>(random.below(3));
  plan.pack_buffers = plan.packing == Packing::never ? 0 : 2 * plan.queue_depth;
  plan.grain_bytes = 1;
  plan.chunk_bytes = 1'000 + random.below(4'000);
  plan.longest_line_bytes = plan.chunk_bytes;
  plan.line_stride_bytes = 3 * plan.chunk_bytes;
  plan.block_bytes = 4 * plan.chunk_bytes + page_bytes;
  plan.blocks = plan.threads + 2 * plan.queue_depth + 2;
  plan.partitions = 1 + random.below(8);
  plan.low_water_chunks = plan.queue_depth + plan.threads;
  plan.chunks = 2 * (plan.partitions * plan.threads + 2 * plan.low_water_chunks) + random.below(10);
  plan.partition_limit_bytes = plan.chunks * plan.chunk_bytes * 3 / (5 + random.below(5));
  plan.scratch_bytes = line_scratch_bytes(plan.partition_limit_bytes / 4, plan.threads);
  return plan;
}

void append_long_lines(lines::Text& text, std::uint64_t count, std::size_t bytes, RandomSequence& random) {
  for (; count > 0; --count) {
    lines::append(text, "zz");
    text.push_back(static_cast<std::byte>('a' + random.below(20)));
    text.resize(text.size() + bytes - 4, std::byte{'z'});
    text.push_back(newline);
  }
}

void append_short_lines(lines::Text& text, std::uint64_t bytes, RandomSequence& random) {
  const std::uint64_t line_bytes = random.below(40);
  for (const std::uint64_t end = text.size() + bytes; text.size() < end;) {
    lines::append_random(text, line_bytes, random);
    text.push_back(newline);
  }
}

// Short lines, and long ones with the same beginning, most of which leave their chunks nearly half empty.
// Where the short ones come first, a sample has few of the long ones, and they meet in one partition.
lines::Text text_of_extremes(const ExternalPlan& plan, RandomSequence& random) {
  lines::Text text;
  const std::uint64_t half = plan.longest_line_bytes / 2;
  const std::uint64_t long_bytes = half + 1 + random.below(random.below(2) == 0 ? half / 8 : half - 1);
  const std::uint64_t most = plan.partition_limit_bytes / long_bytes;  // long lines
  const std::uint64_t count = most - random.below(most / 8 + 1);
  const std::uint64_t short_bytes = random.below(6 * plan.partition_limit_bytes);
  if (random.below(2) == 0) {
    append_short_lines(text, short_bytes, random);
    append_long_lines(text, count, long_bytes, random);
    return text;
  }
  for (std::uint64_t i = 0; i < count; ++i) {
    append_short_lines(text, short_bytes / count, random);
    append_long_lines(text, 1, long_bytes, random);
  }
  return text;
}

void sort_text(const TemporaryDirectory& directory, const lines::Text& text, const ExternalPlan& plan,
               Progress& progress) {
  std::ofstream(directory / "in", std::ios::binary)
      .write(reinterpret_cast<const char*>(text.data()), static_cast<std::streamsize>(text.size()));
  File input = File::open_to_read(directory / "in", File::Caching::buffered);
  SortReport report;
  report.input_bytes = text.size();
  std::vector<OutputFile> outputs;
  outputs.emplace_back(directory / "out", File::Caching::buffered);
  ScratchFiles scratch({directory.path()}, File::Caching::buffered);
  LineFilesSource source({InputFile{&input, text.size()}}, plan);
  sort_in_two_passes(source, *line_items({}), outputs, scratch, plan, &progress, report);
  lines::Text sorted(outputs.front().size());
  if (!sorted.empty()) outputs.front().file().read_exactly(sorted.data(), sorted.size(), 0);
  CHECK(sorted == lines::expected_sorted(text, {}));
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

THREADED_TEST(lines_of_any_length_pass_through_little_memory) {
  RandomSequence random(62);
  const TemporaryDirectory directory;
  Watchdog watchdog;
  for (std::uint64_t round = 0; round < usual_rounds / 10 * check::effort(); ++round) {
    const ExternalPlan plan = tiny_plan(random);
    const lines::Text text = text_of_extremes(plan, random);
    Progress progress;
    watchdog.watch(&progress);
    sort_text(directory, text, plan, progress);
    watchdog.watch(nullptr);
    ++check::cases();
  }
}
