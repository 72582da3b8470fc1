#include "sortcore/external/two_passes.hpp"

#include <algorithm>
#include <optional>

#include "sortcore/error.hpp"
#include "sortcore/external/distribute_pass.hpp"
#include "sortcore/external/output_pass.hpp"

namespace sortcore {
namespace {

constexpr unsigned deepest_split = 32;

class TwoPassSort {
 public:
  TwoPassSort(const RecordFormat& format, ScratchFiles& scratch, const ExternalPlan& plan, Progress* progress,
              SortReport& report)
      : format_(format),
        plan_(plan),
        progress_(progress),
        report_(report),
        monitor_(progress),
        blocks_(monitor_, plan.block_bytes, plan.blocks),
        store_(monitor_, scratch, plan),
        context_{plan_, monitor_, blocks_, store_, progress} {}

  void run(FilesSource& source, std::span<OutputFile> outputs) {
    begin_phase(0);
    distribute_input(source, outputs.size());
    source.check_sizes();
    report_.input_bytes_read = report_.phases.back().stages.front().bytes;
    set_sizes(outputs);
    report_.kept_bytes = report_.input_bytes - std::min(report_.input_bytes, store_.spilled_bytes());
    begin_phase(1);
    write(outputs);
    report_.spilled_bytes = store_.spilled_bytes();
    report_.temporary_bytes_written = store_.scratch().written_bytes();
    report_.temporary_bytes_read = store_.scratch().read_bytes();
    report_.packed_bytes = store_.scratch().packed_bytes();
    report_.packed_to_bytes = store_.scratch().packed_to_bytes();
  }

 private:
  struct Pending {
    OutputPartition to;
    unsigned depth;  // number of times it has been distributed
  };

  void begin_phase(std::uint32_t phase) {
    if (progress_ != nullptr) progress_->begin_phase(phase, report_.input_bytes);
  }

  // The partitions of each output are a stretch of the key range; the outputs take turns, so that their disks
  // work concurrently.
  void distribute_input(FilesSource& source, std::size_t outputs) {
    const PhaseWatch watch(&monitor_);
    const Division division(format_, source, plan_.partitions, report_.sample_bytes_read);
    report_.phases.push_back(watch.report("sample", {}));
    const std::size_t count = division.partitions();
    std::vector<ChunkStore::Partition> numbers(count);
    for (std::size_t turn = 0; turn < (count + outputs - 1) / outputs + 1; ++turn) {
      for (std::size_t output = 0; output < outputs; ++output) {
        const std::size_t index = output * count / outputs + turn;
        if (index >= (output + 1) * count / outputs) continue;
        numbers[index] = store_.add_partition();
        pending_.push_back({{numbers[index], output, division.holds_one_key(index)}, 1});
      }
    }
    report_.partitions = count;
    report_.phases.push_back(distribute(context_, source, division, numbers, report_.input_bytes));
    for (const Pending& pending : pending_)
      report_.records += store_.bytes_of(pending.to.partition) / format_.record_bytes;
  }

  void set_sizes(std::span<OutputFile> outputs) {
    std::vector<std::uint64_t> sizes(outputs.size());
    for (const Pending& pending : pending_) sizes[pending.to.output] += store_.bytes_of(pending.to.partition);
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].set_size(sizes[i]);
  }

  // Partitions that fit go through the pipeline in stretches; one that does not is split first.
  void write(std::span<OutputFile> outputs) {
    std::vector<OutputStream> streams;
    for (OutputFile& output : outputs) streams.emplace_back(output, blocks_);
    PartitionSorter sorter(format_, plan_.threads, plan_.stable);
    std::size_t next = 0;
    while (next < pending_.size()) {
      std::vector<OutputPartition> stretch;
      for (; next < pending_.size() && fits(pending_[next]); ++next) stretch.push_back(pending_[next].to);
      if (!stretch.empty()) report_.phases.push_back(write_partitions(context_, stretch, streams, sorter));
      if (next < pending_.size()) split(next);
    }
    for (const Pending& pending : pending_) report_.one_key_partitions += pending.to.holds_one_key ? 1 : 0;
  }

  // Chunks that are partly filled may be more than those of full ones.
  bool fits(const Pending& pending) {
    return pending.to.holds_one_key ||
           (store_.bytes_of(pending.to.partition) <= plan_.partition_limit_bytes &&
            store_.chunks_of(pending.to.partition) <= plan_.chunks);
  }

  void split(std::size_t index) {
    const Pending parent = pending_[index];
    const std::uint64_t bytes = store_.bytes_of(parent.to.partition);
    if (parent.depth >= deepest_split) {
      throw Error(ErrorCode::too_little_memory,
                  "a partition of " + std::to_string(bytes) +
                      " bytes does not get smaller by splitting; give more memory");
    }
    PartitionSource source(store_, parent.to.partition, format_.record_bytes, plan_.stable);
    const std::uint64_t wanted = 2 * bytes / std::max<std::uint64_t>(plan_.partition_limit_bytes, 1) + 2;
    const auto parts =
        static_cast<std::size_t>(std::min<std::uint64_t>(wanted, std::max<std::size_t>(plan_.partitions, 2)));
    const Division division(format_, source, parts, report_.sample_bytes_read);
    std::vector<ChunkStore::Partition> numbers;
    std::vector<Pending> children;
    for (std::size_t part = 0; part < division.partitions(); ++part) {
      numbers.push_back(store_.add_partition(parent.to.partition));
      children.push_back(
          {{numbers.back(), parent.to.output, division.holds_one_key(part)}, parent.depth + 1});
    }
    SortContext unwatched = context_;  // data distributed again has been counted already
    unwatched.progress = nullptr;
    const std::uint64_t written_bytes =
        store_.written_chunks_of(parent.to.partition) * std::uint64_t{plan_.chunk_bytes};
    report_.phases.push_back(distribute(unwatched, source, division, numbers, written_bytes));
    report_.phases.back().name = "split again";
    ++report_.partitions_split_again;
    report_.partitions += children.size() - 1;
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(index));
    pending_.insert(pending_.begin() + static_cast<std::ptrdiff_t>(index), children.begin(), children.end());
  }

  RecordFormat format_;
  const ExternalPlan& plan_;
  Progress* progress_;
  SortReport& report_;
  Monitor monitor_;
  BlockPool blocks_;
  ChunkStore store_;
  SortContext context_;
  std::vector<Pending> pending_;
};

}  // namespace

void sort_in_two_passes(FilesSource& source, const RecordFormat& format, std::span<OutputFile> outputs,
                        ScratchFiles& scratch, const ExternalPlan& plan, Progress* progress,
                        SortReport& report) {
  TwoPassSort(format, scratch, plan, progress, report).run(source, outputs);
}

}  // namespace sortcore
