#include <string>

#include "convert.hpp"
#include "register.hpp"
#include "sortcore/gensort/generate.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

void generate_into(const py::buffer& out, const py::int_& start, bool ascii, bool skewed, unsigned threads) {
  const BytesView view(out, BytesView::Access::write, "out");
  const U128 first = to_u128(start);
  const Unlocked unlocked;
  generate_records(first, view.writable_bytes(), {.ascii = ascii, .skewed = skewed}, threads);
}

void generate_to(const std::string& path, std::uint64_t records, const py::int_& start, bool ascii,
                 bool skewed, unsigned threads, bool replaces, Progress* progress) {
  const U128 first = to_u128(start);
  const Unlocked unlocked;
  generate_file(path, first, records, {.ascii = ascii, .skewed = skewed}, threads, progress, replaces);
}

}  // namespace

void register_generate(py::module_& module) {
  module.def("generate_records", &generate_into, py::arg("out"), py::kw_only(), py::arg("start") = 0,
             py::arg("ascii") = false, py::arg("skewed") = false, py::arg("threads") = 0);
  module.def("generate_file", &generate_to, py::arg("path"), py::kw_only(), py::arg("records"),
             py::arg("start") = 0, py::arg("ascii") = false, py::arg("skewed") = false,
             py::arg("threads") = 0, py::arg("replaces") = true, py::arg("progress") = py::none());
}

}  // namespace sortcore::python
