#include "sortcore/keys/sort_text.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "io/descriptors.hpp"
#include "keys/ended_lines.hpp"
#include "keys/merge_lines.hpp"
#include "keys/run_sorter.hpp"
#include "keys/sorted_runs.hpp"
#include "keys/text_inputs.hpp"
#include "keys/text_output.hpp"
#include "sortcore/error.hpp"
#include "sortcore/external/external_plan.hpp"
#include "sortcore/io/input_mapping.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::uint64_t least_memory_bytes = std::uint64_t{8} << 20;
constexpr std::size_t head_bytes = std::size_t{1} << 20;
constexpr std::size_t stream_bytes = std::size_t{1} << 20;

// Lines whose keys are equal are one, so that their rest does not count.
KeyOrder settled(KeyOrder order, bool unique) {
  if (unique) order.whole_line_last = order.is_whole_line();
  if (order.record_bytes != 0) order.whole_line_last = false;
  if (order.record_bytes != 0 && order.is_whole_line())
    throw Error(ErrorCode::bad_input, "records are sorted by parts of them, and none is given");
  return order;
}

// What is taken however few lines there are: work space of the threads, blocks to write, rounding to huge
// pages.
std::uint64_t fixed_bytes(unsigned threads) {
  constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20, buffers = 4;
  return line_scratch_bytes(0, threads) + threads * 4 * block_bytes + buffers * Buffer::huge_page_bytes;
}

// How many bytes of text fit into memory beside what sorting them takes, as the first lines tell.
std::uint64_t text_bytes_for(std::span<const std::byte> head, const KeyOrder& order,
                             std::uint64_t memory_bytes, unsigned threads) {
  constexpr std::uint64_t spare_share = 10, many = 1'000'000;
  memory_bytes -= std::min(fixed_bytes(threads), memory_bytes / 2);
  LineEncoder encoder(order);
  GrowingBytes keys;
  std::uint64_t lines = 1;
  try {
    for (auto rest = head; !rest.empty(); ++lines) {
      const auto line = take_ended_line(rest, order);
      if (!line) break;
      encoder.append(*line, keys);
    }
  } catch (const Error&) {  // the sort will say which row is wrong
  }
  const std::uint64_t of_line = line_scratch_bytes(many, threads) / many + 2 * sizeof(std::uint64_t);
  const std::uint64_t beside = lines * of_line + keys.size();
  const std::uint64_t whole = std::max<std::uint64_t>(head.size(), 1) + beside + beside / spare_share;
  const double share = static_cast<double>(head.size()) / static_cast<double>(whole);
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(share * static_cast<double>(memory_bytes)),
                                 2 * head_bytes);
}

// Nothing for what is no regular file: a pipe must not be opened twice.
std::optional<std::uint64_t> regular_bytes(const std::string& path) {
  struct stat status{};
  if (path == "-" || ::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

// With an end for every last line.
std::optional<std::uint64_t> total_bytes(const std::vector<TextSource>& sources) {
  constexpr std::uint64_t longest_end = 2;
  std::uint64_t total = 0;
  for (const TextSource& source : sources) {
    const auto bytes = regular_bytes(source.path);
    if (!bytes) return std::nullopt;
    total += *bytes - std::min(*bytes, source.first_byte) + longest_end;
  }
  return total;
}

class TextSort {
 public:
  TextSort(const TextSortRequest& request, Progress* progress)
      : request_(request),
        progress_(progress),
        memory_bytes_(std::max(request.memory_bytes == 0 ? default_memory_bytes() : request.memory_bytes,
                               least_memory_bytes)),
        threads_(resolve_threads(request.threads)),
        output_(request.output, request.durability, scratch_directory()),
        runs_(request.order, merge_settings()) {}

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
    }
    report_.spilled_bytes = runs_.packing().spilled_bytes;
    report_.packed_bytes = runs_.packing().packed_bytes;
    report_.packed_to_bytes = runs_.packing().packed_to_bytes;
    report_.spill_reason = runs_.packing().choice().reason;
    throw_if_cancelled(progress_);  // a pipe may have ended because what filled it failed
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
                           request_.first_row};
    settings.free_descriptors = std::min(free_descriptors(), settings.free_descriptors);
    if (settings.directories.empty()) settings.directories.push_back(scratch_directory());
    if (settings.most_merged == 0)
      settings.most_merged = std::clamp(memory_bytes_ / 2 / least_buffer_bytes, fewest_at_once, most_at_once);
    return settings;
  }

  void sort() {
    JoinedInputs inputs(request_.inputs, request_.order);
    sorter_ = std::make_unique<RunSorter>(request_.order, request_.unique, threads_, request_.most_lines,
                                          request_.first_row);
    Buffer head(head_bytes + 1);
    const std::size_t have = inputs.read(head.data(), head_bytes, 1);
    const auto first = std::as_const(head).first(have);
    const std::uint64_t most_bytes = text_bytes_for(first, request_.order, memory_bytes_, threads_);
    if (inputs.at_end())
      return write_last(first, memory_bytes_ - std::min<std::uint64_t>(memory_bytes_, have));
    const auto total = total_bytes(request_.inputs);
    if (total && *total <= most_bytes && request_.inputs.size() == 1 && !needs_crlf()) return sort_mapped();
    sort_read(inputs, first, std::min(most_bytes, total.value_or(most_bytes) + head_bytes));
  }

  // A row that lacks an end of two bytes gets it when it is read, not where it is mapped.
  bool needs_crlf() const { return request_.order.csv && request_.order.csv->ends_with_crlf; }

  // What is mapped counts as memory, though the system can take it back.
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

  void sort_read(JoinedInputs& inputs, std::span<const std::byte> head, std::uint64_t most_bytes) {
    Buffer text(most_bytes + 1);
    std::memcpy(text.data(), head.data(), head.size());
    std::size_t have = head.size();
    while (true) {
      const std::size_t more = inputs.read(text.data() + have, most_bytes - have, threads_);
      add_progress(progress_, more);
      have += more;
      auto rest = std::as_const(text).first(inputs.at_end() ? have : whole_lines_end(text, have));
      if (rest.empty()) {  // a line longer than all memory is sorted in what there is
        Buffer larger(2 * most_bytes + 1);
        std::memcpy(larger.data(), text.data(), have);
        text = std::move(larger);
        most_bytes *= 2;
        continue;
      }
      if (write_or_spill(rest, memory_bytes_ - std::min(memory_bytes_, most_bytes), inputs.at_end())) return;
      const auto begin = static_cast<std::size_t>(rest.data() - text.data());
      std::memmove(text.data(), text.data() + begin, have - begin);
      have -= begin;
    }
  }

  std::size_t whole_lines_end(const Buffer& text, std::size_t have) const {
    if (const auto quote = request_.order.quote()) {
      const auto all = text.first(have);
      return whole_quoted_lines(all, *quote, flips_quotes(all, *quote));
    }
    if (request_.order.record_bytes != 0) return have - have % request_.order.record_bytes;
    const std::string_view characters(reinterpret_cast<const char*>(text.data()), have);
    const std::size_t last = characters.rfind(static_cast<char>(request_.order.line_end));
    return last == std::string_view::npos ? 0 : last + 1;
  }

  // The first lines tell whether LZ4 makes them smaller; records are packed only if that is asked for.
  void choose_packing_of(std::span<const std::byte> first) {
    const Lz4* const lz4 = Lz4::of_the_system();
    const bool is_sample = request_.spill == Spill::automatic && request_.order.record_bytes == 0;
    runs_.pack(choose_packing(request_.spill, lz4, packed_share(first, is_sample ? lz4 : nullptr)));
  }

  // Takes off `rest` what it sorts. Returns true when all is written.
  bool write_or_spill(std::span<const std::byte>& rest, std::uint64_t memory_bytes, bool is_end) {
    const std::size_t sorted = sorter_->sort(rest, memory_bytes, progress_);
    if (is_end && sorted == rest.size() && report_.runs == 0) {
      write_sorted();
      return true;
    }
    if (report_.runs == 0) choose_packing_of(rest.first(std::min(rest.size(), head_bytes)));
    runs_.add(*sorter_, progress_);
    ++report_.runs;
    rest = rest.subspan(sorted);
    if (!is_end || !rest.empty()) return false;
    sorter_.reset();
    merge();
    return true;
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
  TextOutput output_;
  SortedRuns runs_;
  std::unique_ptr<RunSorter> sorter_;
  TextSortReport report_;
};

// Reads inputs that can be read again to throw for the wrong row with its number in its file.
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
  RunSorter sorter(settled(order, unique), unique, 1);
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

std::optional<Disorder> find_disorder(const TextSource& input, const KeyOrder& given, bool unique,
                                      std::uint64_t first_row) {
  const KeyOrder order = settled(given, unique);
  LineStream stream(TextInput(input), order, stream_bytes, first_row);
  std::vector<std::byte> key, line;
  for (std::uint64_t number = first_row; stream.next(); ++number) {
    const KeyedLine now{stream.key(), stream.line()};
    const int sign = number == first_row ? -1 : compare_lines({key, line}, now, order);
    if (sign > 0 || (unique && sign == 0))
      return Disorder{number, std::string(reinterpret_cast<const char*>(now.line.data()), now.line.size())};
    key.assign(now.key.begin(), now.key.end());
    line.assign(now.line.begin(), now.line.end());
  }
  return std::nullopt;
}

}  // namespace sortcore
