#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "convert.hpp"
#include "register.hpp"
#include "sortcore/external/external_plan.hpp"
#include "sortcore/keys/line_encoder.hpp"
#include "sortcore/keys/natural_keys.hpp"
#include "sortcore/keys/partition_text.hpp"
#include "sortcore/keys/sort_text.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

// Delimiter, quote, columns, and whether rows end with CRLF.
using CsvGiven = std::tuple<std::string, std::string, std::uint64_t, bool>;

// First field and byte, last field and its bytes, and the letters of GNU sort for the comparison, where `B`
// is `b` at the end of the key. For CSV `I` is a strict integer, `N` a decimal number, `F` a double, and `T`
// before a format a date; `E` puts empty values first. For records `U`, `S` and `D` are unsigned, signed and
// floating-point numbers in binary, `L` little endian.
using PartGiven = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::string>;

void set_option(KeyPart& part, char letter) {
  constexpr std::pair<char, KeyKind> kinds[] = {
      {'n', KeyKind::decimal},        {'g', KeyKind::general},         {'h', KeyKind::human},
      {'M', KeyKind::month},          {'V', KeyKind::version},         {'R', KeyKind::random},
      {'A', KeyKind::natural},        {'I', KeyKind::integer},         {'N', KeyKind::number},
      {'F', KeyKind::floating},       {'U', KeyKind::binary_unsigned}, {'S', KeyKind::binary_signed},
      {'D', KeyKind::binary_floating}};
  if (const auto kind = std::ranges::find(kinds, letter, &std::pair<char, KeyKind>::first);
      kind != std::end(kinds))
    part.kind = kind->second;
  else if (letter == 'b')
    part.skips_blanks_at_start = true;
  else if (letter == 'B')
    part.skips_blanks_at_end = true;
  else if (letter == 'd')
    part.bytes = KeyBytes::dictionary;
  else if (letter == 'i')  // `d` implies it
    part.bytes = part.bytes == KeyBytes::all ? KeyBytes::printing : part.bytes;
  else if (letter == 'f')
    part.folds_case = true;
  else if (letter == 'r')
    part.descending = true;
  else if (letter == 'E')
    part.empty_first = true;
  else if (letter == 'L')
    part.is_little_endian = true;
  else
    throw py::value_error(std::string("a key has no option ") + letter);
}

KeyPart make_part(const PartGiven& given) {
  const auto& [first_field, first_byte, last_field, last_field_bytes, options] = given;
  KeyPart part;
  part.first_field = first_field;
  part.first_byte = first_byte;
  part.last_field = last_field;
  part.last_field_bytes = last_field_bytes;
  const std::size_t letters = std::min(options.find('T'), options.size());
  for (const char letter : options.substr(0, letters)) set_option(part, letter);
  if (letters < options.size()) {
    part.kind = KeyKind::date;
    part.date_format = options.substr(letters + 1);
  }
  return part;
}

std::byte one_byte(const std::string& bytes) {
  if (bytes.size() != 1) throw py::value_error("fields are separated, and lines end, by one byte");
  return static_cast<std::byte>(bytes[0]);
}

CsvFormat make_csv(const CsvGiven& given, const std::vector<KeyPart>& parts) {
  const auto& [delimiter, quote, columns, ends_with_crlf] = given;
  const auto is_column = [&](const KeyPart& part) { return part.first_field < columns; };
  if (parts.empty() || !std::ranges::all_of(parts, is_column))
    throw py::value_error("rows are sorted by columns that they have");
  return {one_byte(delimiter), one_byte(quote), columns, ends_with_crlf};
}

std::vector<TextSource> make_sources(const std::vector<std::string>& paths,
                                     const std::vector<std::uint64_t>& first_bytes,
                                     const std::vector<std::uint64_t>& end_bytes = {}) {
  const auto fits = [&](const auto& given) { return given.empty() || given.size() == paths.size(); };
  if (!fits(first_bytes) || !fits(end_bytes))
    throw py::value_error("each input has its first byte and its end, or none has");
  std::vector<TextSource> sources;
  for (std::size_t i = 0; i < paths.size(); ++i)
    sources.push_back(
        {paths[i], first_bytes.empty() ? 0 : first_bytes[i], end_bytes.empty() ? UINT64_MAX : end_bytes[i]});
  return sources;
}

KeyOrder make_order(const std::vector<PartGiven>& parts, const std::optional<std::string>& separator,
                    const std::string& line_end, bool whole_line_last, bool reversed, const std::string& seed,
                    const std::optional<CsvGiven>& csv, std::uint64_t record_bytes) {
  KeyOrder order;
  order.record_bytes = record_bytes;
  for (const PartGiven& part : parts) order.parts.push_back(make_part(part));
  if (separator) order.separator = one_byte(*separator);
  order.line_end = one_byte(line_end);
  order.whole_line_last = whole_line_last;
  order.reversed = reversed;
  if (csv) order.csv = make_csv(*csv, order.parts);
  const std::size_t seeded = std::min(seed.size(), order.random_seed.size());
  std::ranges::copy(std::as_bytes(std::span(seed)).first(seeded), order.random_seed.begin());
  return order;
}

py::dict sort_paths(const std::vector<std::string>& inputs, std::string output, const KeyOrder& order,
                    const std::vector<std::uint64_t>& first_bytes,
                    const std::vector<std::uint64_t>& end_bytes, std::string prologue,
                    std::uint64_t first_row, std::vector<FileVersion> versions, bool unique, bool merge,
                    bool durable, std::uint64_t most_lines, std::uint64_t memory_bytes,
                    bool lines_may_exceed_memory, std::vector<std::string> temporary_directories,
                    unsigned threads, unsigned most_merged, const std::string& spill, bool replaces,
                    Progress* progress) {
  TextSortRequest request;
  request.inputs = make_sources(inputs, first_bytes, end_bytes);
  request.versions = std::move(versions);
  request.prologue = std::move(prologue);
  request.first_row = first_row;
  request.output = std::move(output);
  request.order = order;
  request.unique = unique;
  request.inputs_are_sorted = merge;
  request.most_lines = most_lines;
  if (durable) request.durability = OutputFile::Durability::on_disk;
  request.memory_bytes = memory_bytes;
  request.lines_may_exceed_memory = lines_may_exceed_memory;
  request.temporary_directories = std::move(temporary_directories);
  request.threads = threads;
  request.most_merged = most_merged;
  request.spill = to_spill(spill);
  request.replaces = replaces;
  const TextSortReport report = [&] {
    const Unlocked unlocked;
    return sort_text(request, progress);
  }();
  return py::dict(
      py::arg("lines") = report.lines, py::arg("runs") = report.runs,
      py::arg("spilled_bytes") = report.spilled_bytes, py::arg("packed_bytes") = report.packed_bytes,
      py::arg("packed_to_bytes") = report.packed_to_bytes, py::arg("spill_reason") = report.spill_reason);
}

std::unique_ptr<PiecewiseMerge> begin_merge(const std::vector<std::string>& inputs,
                                            const std::vector<std::uint64_t>& first_bytes, std::string output,
                                            const KeyOrder& order, std::uint64_t end, bool unique,
                                            std::uint64_t memory_bytes) {
  const PiecewiseMergeRequest request{
      make_sources(inputs, first_bytes), std::move(output), end, order, unique, memory_bytes};
  const Unlocked unlocked;
  return std::make_unique<PiecewiseMerge>(request);
}

py::tuple write_piece(PiecewiseMerge& merge, std::uint64_t most_bytes, Progress* progress) {
  const MergedPiece piece = [&] {
    const Unlocked unlocked;
    return merge.write(most_bytes, progress);
  }();
  return py::make_tuple(piece.lines, piece.end, piece.first_bytes);
}

py::bytes sort_buffer(const py::buffer& text, const KeyOrder& order, bool unique) {
  const BytesView view(text, BytesView::Access::read, "text");
  return py::bytes(sorted_text(view.bytes(), order, unique));
}

py::object disorder_in(const std::string& input, const KeyOrder& order, bool unique, std::uint64_t first_byte,
                       std::uint64_t first_row) {
  const auto disorder = [&] {
    const Unlocked unlocked;
    return find_disorder({input, first_byte}, order, unique, first_row);
  }();
  if (!disorder) return py::none();
  return py::make_tuple(disorder->line, py::bytes(disorder->text));
}

std::vector<std::uint64_t> partition_buffer(const py::buffer& text, const py::buffer& out,
                                            const KeyOrder& order,
                                            const std::vector<std::pair<std::string, bool>>& given) {
  const BytesView view(text, BytesView::Access::read, "text");
  const BytesView to(out, BytesView::Access::write, "out");
  std::vector<TextBoundary> boundaries;
  for (const auto& [line, is_above] : given) boundaries.push_back({line, is_above});
  const Unlocked unlocked;
  return partition_text(view.bytes(), to.writable_bytes(), order, boundaries);
}

py::tuple summarize_buffer(const py::buffer& text, const KeyOrder& order) {
  const BytesView view(text, BytesView::Access::read, "text");
  const TextSummary summary = [&] {
    const Unlocked unlocked;
    return summarize_text(view.bytes(), order);
  }();
  return py::make_tuple(summary.lines, summary.checksum, summary.unordered, summary.duplicates,
                        py::bytes(summary.first_line), py::bytes(summary.last_line));
}

py::tuple line_end_in(const py::buffer& text, const KeyOrder& order, bool is_within) {
  const BytesView view(text, BytesView::Access::read, "text");
  const LineEnd end = find_line_end(view.bytes(), order, is_within);
  return py::make_tuple(end.behind, end.is_within);
}

bool is_within_behind(const py::buffer& text, const KeyOrder& order, bool is_within) {
  const BytesView view(text, BytesView::Access::read, "text");
  const Unlocked unlocked;
  return is_within_quotes_behind(view.bytes(), order, is_within);
}

py::list lines_of(const py::buffer& text, const KeyOrder& order, std::uint64_t most) {
  const BytesView view(text, BytesView::Access::read, "text");
  py::list lines;
  for (const std::string& line : first_lines(view.bytes(), order, most)) lines.append(py::bytes(line));
  return lines;
}

// Keys of a column's values, whose offsets have 64 bits: their offsets and bytes.
py::tuple natural_keys_of(const py::buffer& offsets, const py::buffer& texts) {
  const BytesView places(offsets, BytesView::Access::read, "offsets");
  const BytesView text(texts, BytesView::Access::read, "texts");
  const auto* const first = reinterpret_cast<const std::int64_t*>(places.bytes().data());
  const NaturalKeys made = [&] {
    const Unlocked unlocked;
    return natural_keys({first, places.bytes().size() / sizeof *first}, text.bytes());
  }();
  return py::make_tuple(to_bytes(std::as_bytes(std::span(made.offsets))), to_bytes(made.keys));
}

// For tests: the key of a line.
py::bytes key_of(const KeyOrder& order, const py::bytes& line) {
  const std::string bytes = line;
  LineEncoder encoder(order);
  GrowingBytes key;
  encoder.append(std::as_bytes(std::span(bytes)), key);
  return to_bytes(key.bytes());
}

}  // namespace

void register_sort_text(py::module_& module) {
  py::class_<KeyOrder>(module, "KeyOrder", "The order of lines by keys.")
      .def(py::init(&make_order), py::arg("parts"), py::kw_only(), py::arg("separator") = py::none(),
           py::arg("line_end") = py::bytes("\n"), py::arg("whole_line_last") = true,
           py::arg("reversed") = false, py::arg("random_seed") = py::bytes(""), py::arg("csv") = py::none(),
           py::arg("record_bytes") = 0)
      .def("key_of", &key_of, py::arg("line"));
  module.def("sort_text", &sort_paths, py::arg("inputs"), py::arg("output"), py::arg("order"), py::kw_only(),
             py::arg("first_bytes") = std::vector<std::uint64_t>{},
             py::arg("end_bytes") = std::vector<std::uint64_t>{}, py::arg("prologue") = py::bytes(""),
             py::arg("first_row") = 1, py::arg("versions") = std::vector<FileVersion>{},
             py::arg("unique") = false, py::arg("merge") = false, py::arg("durable") = false,
             py::arg("most_lines") = UINT64_MAX, py::arg("memory_bytes") = 0,
             py::arg("lines_may_exceed_memory") = false,
             py::arg("temporary_directories") = std::vector<std::string>{}, py::arg("threads") = 0,
             py::arg("most_merged") = 0, py::arg("spill") = "auto", py::arg("replaces") = true,
             py::arg("progress") = py::none());
  py::class_<PiecewiseMerge>(module, "PiecewiseMerge",
                             "A merge of sorted files of which one piece after another is written.")
      .def(py::init(&begin_merge), py::arg("inputs"), py::arg("first_bytes"), py::arg("output"),
           py::arg("order"), py::kw_only(), py::arg("end"), py::arg("unique") = false,
           py::arg("memory_bytes") = 0)
      .def("write", &write_piece, py::arg("most_bytes"), py::arg("progress") = py::none());
  module.def("default_memory_bytes", &default_memory_bytes, py::kw_only(),
             py::arg("within_address_space") = true);
  module.def("natural_keys", &natural_keys_of, py::arg("offsets"), py::arg("texts"));
  module.def("sorted_text", &sort_buffer, py::arg("text"), py::arg("order"), py::kw_only(),
             py::arg("unique") = false);
  module.def("partition_text", &partition_buffer, py::arg("text"), py::arg("out"), py::arg("order"),
             py::arg("boundaries"));
  module.def("summarize_text", &summarize_buffer, py::arg("text"), py::arg("order"));
  module.def("find_line_end", &line_end_in, py::arg("text"), py::arg("order"), py::arg("is_within") = false);
  module.def("is_within_quotes_behind", &is_within_behind, py::arg("text"), py::arg("order"),
             py::arg("is_within") = false);
  module.def("first_lines", &lines_of, py::arg("text"), py::arg("order"), py::arg("most") = UINT64_MAX);
  module.def("find_disorder", &disorder_in, py::arg("input"), py::arg("order"), py::kw_only(),
             py::arg("unique") = false, py::arg("first_byte") = 0, py::arg("first_row") = 1);
}

}  // namespace sortcore::python
