#include <string>

#include "register.hpp"
#include "sortcore/io/output_file.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

OutputFile open_output(const std::string& path) { return {path, File::Caching::buffered}; }

void commit(OutputFile& output, std::uint64_t bytes) {
  const py::gil_scoped_release unlocked;
  output.set_size(bytes);
  output.commit();
}

}  // namespace

void register_output_file(py::module_& module) {
  py::class_<OutputFile>(module, "OutputFile",
                         "A file that appears under its name with `commit`, or not at all.")
      .def(py::init(&open_output), py::arg("path"))
      .def_property_readonly("descriptor", [](OutputFile& output) { return output.file().descriptor(); })
      .def("commit", &commit, py::arg("bytes"));
}

}  // namespace sortcore::python
