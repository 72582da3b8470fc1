#include "sortcore/keys/sort_text.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "io/descriptors.hpp"
#include "keys/cut_text.hpp"
#include "keys/merge_lines.hpp"
#include "keys/run_sorter.hpp"
#include "keys/sorted_runs.hpp"
#include "keys/text_inputs.hpp"
#include "keys/text_memory.hpp"
#include "keys/text_output.hpp"
#include "lines/quoted_lines.hpp"
#include "sortcore/error.hpp"
#include "sortcore/external/external_plan.hpp"
#include "sortcore/io/input_mapping.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::uint64_t least_memory_bytes = std::uint64_t{8} << 20;
constexpr std::size_t head_bytes = std::size_t{1} << 20;
constexpr std::size_t stream_bytes = std::size_t{1} << 20;

// Lines with equal keys are one, so that their rest does not count.
KeyOrder settled(KeyOrder order, bool unique) {
  if (unique) order.whole_line_last = order.is_whole_line();
  if (order.record_bytes != 0) order.whole_line_last = false;
  if (order.record_bytes != 0 && order.is_whole_line())
    throw Error(ErrorCode::bad_input, "records are sorted by parts of them, and none is given");
  return order;
}

class TextSort {
 public:
  TextSort(const TextSortRequest& request, Progress* progress)
      : request_(request),
        progress_(progress),
        memory_bytes_(std::max(request.memory_bytes == 0 ? default_memory_bytes() : request.memory_bytes,
                               least_memory_bytes)),
        threads_(resolve_threads(request.threads)),
        limits_(request.order, request.unique, memory_bytes_, threads_),
        output_(request.output, request.durability, scratch_directory(), request.replaces),
        runs_(request.order, limits_, merge_settings()),
        inputs_(request.inputs, request.order) {}

  TextSortReport run() {
    const auto total = total_bytes(request_.inputs).value_or(0);
    if (progress_ != nullptr) progress_->begin_phase(0, total);
    output_.append(std::as_bytes(std::span(request_.prologue)));
    if (request_.inputs_are_sorted) {
      // Only a merge in several rounds spills anything.
      if (request_.spill == Spill::lz4) runs_.pack(choose_packing(request_.spill, Lz4::of_the_system(), {}));
      for (const TextSource& input : request_.inputs) runs_.add(input);
      merge();
    } else {
      sort();
      sorter_.reset();  // the text read is gone, too, so a merge has all the memory
      if (report_.runs != 0) merge();
    }
    report_.spilled_bytes = runs_.packing().spilled_bytes;
    report_.packed_bytes = runs_.packing().packed_bytes;
    report_.packed_to_bytes = runs_.packing().packed_to_bytes;
    report_.spill_reason = runs_.packing().choice().reason;
    throw_if_cancelled(progress_);  // a pipe may have ended because its source failed
    require_unchanged(request_.versions);
    output_.finish();
    return report_;
  }

 private:
  std::string scratch_directory() const {
    return request_.temporary_directories.empty() ? "/tmp" : request_.temporary_directories.front();
  }

  MergeSettings merge_settings() const {
    constexpr std::uint64_t least_buffer_bytes = 256 << 10, most_at_once = 256, fewest_at_once = 16;
    MergeSettings settings{request_.temporary_directories,
                           memory_bytes_,
                           request_.most_merged,
                           request_.unique,
                           request_.most_lines,
                           threads_,
                           request_.first_row,
                           request_.lines_may_exceed_memory};
    settings.free_descriptors = std::min(free_descriptors(), settings.free_descriptors);
    if (settings.directories.empty()) settings.directories.push_back(scratch_directory());
    if (settings.most_merged == 0)
      settings.most_merged = std::clamp(memory_bytes_ / 2 / least_buffer_bytes, fewest_at_once, most_at_once);
    return settings;
  }

  void sort() {
    sorter_ = std::make_unique<RunSorter>(request_.order, request_.unique, threads_, request_.most_lines,
                                          request_.first_row, request_.lines_may_exceed_memory);
    Buffer head(head_bytes + 1);
    const std::size_t have = inputs_.read(head.data(), head_bytes, 1);
    const auto first = std::as_const(head).first(have);
    const std::uint64_t most_bytes = text_bytes_for(first, request_.order, memory_bytes_, threads_);
    text_share_ = static_cast<double>(most_bytes) / static_cast<double>(memory_bytes_);
    if (inputs_.at_end())
      return write_last(first, memory_bytes_ - std::min<std::uint64_t>(memory_bytes_, have));
    const auto total = total_bytes(request_.inputs);
    if (total && *total <= most_bytes && request_.inputs.size() == 1 && !needs_crlf() &&
        !request_.inputs.front().is_part())
      return sort_mapped();
    sort_read(first, std::min(most_bytes, total.value_or(most_bytes) + head_bytes));
  }

  // A row that lacks an end of two bytes gets it when it is read, not when it is mapped.
  bool needs_crlf() const { return request_.order.csv && request_.order.csv->ends_with_crlf; }

  // Mapped data counts as memory, though the system can reclaim it.
  void sort_mapped() {
    const TextSource& source = request_.inputs.front();
    const File file = File::open_to_read(source.path, File::Caching::buffered);
    const std::uint64_t bytes = file.size();
    const std::uint64_t record_bytes = request_.order.record_bytes;
    if (record_bytes != 0 && bytes % record_bytes != 0)
      fail_in_record(source.path, bytes % record_bytes, record_bytes);
    InputMapping mapping(file, bytes);
    mapping.populate(threads_, progress_);
    auto rest = mapping.bytes().subspan(std::min(source.first_byte, bytes));
    while (!write_or_spill(rest, memory_bytes_ - std::min(memory_bytes_, bytes), true)) {
    }
    mapping.check();
  }

  void sort_read(std::span<const std::byte> head, std::uint64_t most_bytes) {
    Buffer text(most_bytes + 1);
    std::memcpy(text.data(), head.data(), head.size());
    std::size_t have = head.size();
    while (true) {
      const std::size_t more = inputs_.read(text.data() + have, most_bytes - have, threads_);
      add_progress(progress_, more);
      have += more;
      auto rest = std::as_const(text).first(
          inputs_.at_end() ? have : whole_lines_end(text.first(have), request_.order));
      if (rest.empty()) {
        most_bytes = more_than(most_bytes, text, have);
        text.grow(most_bytes + 1);
        continue;
      }
      if (write_or_spill(rest, memory_bytes_ - std::min(memory_bytes_, most_bytes), inputs_.at_end())) return;
      const auto begin = static_cast<std::size_t>(rest.data() - text.data());
      std::memmove(text.data(), text.data() + begin, have - begin);
      have -= begin;
    }
  }

  // Returns how much text may be read if a line is longer than `most_bytes`, if any more may.
  std::uint64_t more_than(std::uint64_t most_bytes, Buffer& text, std::size_t have) {
    const std::uint64_t wanted = most_bytes + most_bytes / 2;
    if (request_.lines_may_exceed_memory) return wanted;
    if (most_bytes < limits_.most_text_bytes()) return std::min(wanted, limits_.most_text_bytes());
    const std::uint64_t bytes = line_bytes(text, have);
    refuse(limits_.unread(0, bytes));
  }

  // Reads on to the end of the line that fills `text`, without keeping it.
  std::uint64_t line_bytes(Buffer& text, std::size_t have) {
    if (request_.order.record_bytes != 0) return request_.order.record_bytes;
    const auto quote = request_.order.quote();
    bool is_within = quote && flips_quotes(text.first(have), *quote);
    std::uint64_t bytes = have;
    while (!inputs_.at_end()) {
      const std::byte* const begin = text.data();
      const std::byte* const end = begin + inputs_.read(text.data(), text.size() - 1, threads_);
      throw_if_cancelled(progress_);
      const std::byte* const behind = quote ? find_quoted_end(begin, end, *quote, is_within)
                                            : std::find(begin, end, request_.order.line_end);
      if (behind != nullptr && behind != end) return bytes + static_cast<std::uint64_t>(behind - begin);
      bytes += static_cast<std::uint64_t>(end - begin);
    }
    return bytes;
  }

  // The offset of `line` counts from the end of the text sorted last.
  [[noreturn]] void refuse(LongLine line) const {
    const std::uint64_t needed_bytes = limits_.needed_to_sort(line, text_share_);
    const TextSource place = inputs_.place_of(sorted_bytes_ + line.offset);
    line.offset = place.first_byte;
    limits_.refuse(place.path, line, needed_bytes);
  }

  // The first lines show whether LZ4 makes them smaller; records are packed only on request.
  void choose_packing_of(std::span<const std::byte> first) {
    const Lz4* const lz4 = Lz4::of_the_system();
    const bool is_sample = request_.spill == Spill::automatic && request_.order.record_bytes == 0;
    runs_.pack(choose_packing(request_.spill, lz4, packed_share(first, is_sample ? lz4 : nullptr)));
  }

  std::size_t sort_some(std::span<const std::byte> text, std::uint64_t memory_bytes) {
    try {
      return sorter_->sort(text, memory_bytes, progress_);
    } catch (const KeysTooLong& keys) {
      refuse(keys.line);
    }
  }

  // Removes the sorted part from `rest`. Returns true when all is written, or in runs.
  bool write_or_spill(std::span<const std::byte>& rest, std::uint64_t memory_bytes, bool is_end) {
    const std::size_t sorted = sort_some(rest, memory_bytes);
    if (is_end && sorted == rest.size() && report_.runs == 0) {
      write_sorted();
      return true;
    }
    if (report_.runs == 0) choose_packing_of(rest.first(std::min(rest.size(), head_bytes)));
    LongLine longest = sorter_->heaviest_line();
    const TextSource place = inputs_.place_of(sorted_bytes_ + longest.offset);
    longest.offset = place.first_byte;
    runs_.add(*sorter_, {place.path, longest}, progress_);
    ++report_.runs;
    rest = rest.subspan(sorted);
    sorted_bytes_ += sorted;
    return is_end && rest.empty();
  }

  void merge() {
    begin_writing(total_bytes(request_.inputs).value_or(0));
    report_.lines = runs_.merge(output_, progress_);
  }

  void begin_writing(std::uint64_t bytes) {
    if (progress_ != nullptr) progress_->begin_phase(1, bytes);
    output_.count_in(progress_);
  }

  void write_last(std::span<const std::byte> text, std::uint64_t memory_bytes) {
    while (!write_or_spill(text, memory_bytes, true)) {
    }
  }

  void write_sorted() {
    begin_writing(sorter_->bytes());
    output_.write(
        sorter_->bytes(), threads_,
        [&](std::uint64_t from, std::span<std::byte> out) { sorter_->gather(from, out); }, progress_);
    report_.lines = sorter_->lines();
  }

  const TextSortRequest& request_;
  Progress* progress_;
  std::uint64_t memory_bytes_;
  unsigned threads_;
  LineLimits limits_;
  TextOutput output_;
  SortedRuns runs_;
  JoinedInputs inputs_;
  std::uint64_t sorted_bytes_ = 0;  // of the joined inputs
  double text_share_ = 0;           // of the memory
  std::unique_ptr<RunSorter> sorter_;
  TextSortReport report_;
};

// Reads repeatable inputs again, to throw for the wrong row with its number in its file.
void find_wrong_row(const TextSortRequest& request) {
  for (const TextSource& source : request.inputs)
    if (!regular_bytes(source.path)) return;
  for (const TextSource& source : request.inputs) {
    LineStream stream(TextInput(source), request.order, stream_bytes, request.first_row);
    while (stream.next()) {
    }
  }
}

}  // namespace

std::string sorted_text(std::span<const std::byte> text, const KeyOrder& order, bool unique) {
  RunSorter sorter(settled(order, unique), unique, 1, UINT64_MAX, 1, true);
  sorter.sort(text, UINT64_MAX, nullptr);
  std::string sorted(sorter.bytes(), '\0');
  sorter.gather(0, std::as_writable_bytes(std::span(sorted)));
  return sorted;
}

TextSortReport sort_text(const TextSortRequest& given, Progress* progress) {
  TextSortRequest request = given;
  request.order = settled(given.order, given.unique);
  try {
    return TextSort(request, progress).run();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::bad_record) find_wrong_row(request);
    throw;
  }
}

struct PiecewiseMerge::State {
  explicit State(const PiecewiseMergeRequest& request)
      : order(settled(request.order, request.unique)),
        file(File::open_to_overwrite(request.output)),
        output(file, request.output, request.end),
        merge(open_streams(request), order, request.unique) {
    output.write_early();
  }

  std::vector<LineStream> open_streams(const PiecewiseMergeRequest& request) const {
    constexpr std::uint64_t least_buffer_bytes = 64 << 10, most_buffer_bytes = 1 << 20;
    const std::uint64_t inputs = std::max<std::size_t>(request.inputs.size(), 1);
    const std::uint64_t buffer_bytes =
        std::clamp(request.memory_bytes / 2 / inputs, least_buffer_bytes, most_buffer_bytes);
    std::vector<LineStream> streams;
    streams.reserve(request.inputs.size());
    for (const TextSource& input : request.inputs)
      streams.emplace_back(TextInput(input), order, buffer_bytes);
    return streams;
  }

  KeyOrder order;
  File file;
  TextOutput output;
  LineMerge merge;
};

PiecewiseMerge::PiecewiseMerge(const PiecewiseMergeRequest& request)
    : state_(std::make_unique<State>(request)) {}

PiecewiseMerge::~PiecewiseMerge() = default;

MergedPiece PiecewiseMerge::write(std::uint64_t most_bytes, Progress* progress) {
  state_->output.count_in(progress);
  MergedPiece piece;
  piece.lines = state_->merge.write(state_->output, {.bytes = most_bytes}, progress);
  piece.end = state_->output.end();
  for (const LineStream& stream : state_->merge.streams()) piece.first_bytes.push_back(stream.offset());
  return piece;
}

std::optional<Disorder> find_disorder(const TextSource& input, const KeyOrder& given, bool unique,
                                      std::uint64_t first_row) {
  const KeyOrder order = settled(given, unique);
  LineStream stream(TextInput(input), order, stream_bytes, first_row);
  std::vector<std::byte> key, line;
  for (bool is_first = true; stream.next(); is_first = false) {
    const KeyedLine now{stream.key(), stream.line()};
    const int sign = is_first ? -1 : compare_lines({key, line}, now, order);
    if (sign > 0 || (unique && sign == 0))
      return Disorder{stream.row(),
                      std::string(reinterpret_cast<const char*>(now.line.data()), now.line.size())};
    key.assign(now.key.begin(), now.key.end());
    line.assign(now.line.begin(), now.line.end());
  }
  return std::nullopt;
}

}  // namespace sortcore
