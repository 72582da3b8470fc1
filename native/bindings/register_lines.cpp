#include <pybind11/stl.h>

#include <optional>
#include <string>

#include "convert.hpp"
#include "register.hpp"
#include "sortcore/gensort/generate_lines.hpp"
#include "sortcore/validation/validate_lines.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

LineFormat make_format(std::uint64_t key_offset, std::optional<std::uint64_t> key_bytes) {
  return {key_offset, key_bytes.value_or(LineFormat::to_the_end)};
}

LineSummary validate_buffer(const py::buffer& text, std::uint64_t key_offset,
                            std::optional<std::uint64_t> key_bytes, unsigned threads) {
  const BytesView view(text, BytesView::Access::read, "text");
  const Unlocked unlocked;
  return validate_lines(view.bytes(), make_format(key_offset, key_bytes), threads);
}

LineSummary validate_path(const std::string& path, std::uint64_t key_offset,
                          std::optional<std::uint64_t> key_bytes, unsigned threads, Progress* progress) {
  const Unlocked unlocked;
  return validate_lines_file(path, make_format(key_offset, key_bytes), threads, progress);
}

std::optional<std::uint64_t> first_unordered(const LineSummary& summary) {
  if (summary.first_unordered == Summary::none) return std::nullopt;
  return summary.first_unordered;
}

void register_summary(py::module_& module) {
  py::class_<LineSummary>(module, "LineSummary", "What validation found out about consecutive lines.")
      .def_readonly("lines", &LineSummary::lines)
      .def_readonly("bytes", &LineSummary::bytes)
      .def_readonly("unordered", &LineSummary::unordered)
      .def_property_readonly("first_unordered", &first_unordered)
      .def_readonly("duplicates", &LineSummary::duplicates)
      .def_property_readonly("checksum", [](const LineSummary& self) { return from_u128(self.checksum); })
      .def("append", &LineSummary::append, py::arg("next"));
}

}  // namespace

void register_lines(py::module_& module) {
  register_summary(module);
  module.def("validate_lines", &validate_buffer, py::arg("text"), py::kw_only(), py::arg("key_offset") = 0,
             py::arg("key_bytes") = py::none(), py::arg("threads") = 0);
  module.def("validate_lines_file", &validate_path, py::arg("path"), py::kw_only(), py::arg("key_offset") = 0,
             py::arg("key_bytes") = py::none(), py::arg("threads") = 0, py::arg("progress") = py::none());
  module.def("generate_lines_file", &generate_lines_file, py::arg("path"), py::kw_only(), py::arg("bytes"),
             py::arg("seed") = 0, py::arg("threads") = 0, py::arg("progress") = py::none(),
             py::call_guard<Unlocked>(), py::arg("replaces") = true);
}

}  // namespace sortcore::python
