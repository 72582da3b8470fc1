#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "register.hpp"
#include "sortcore/io/file_version.hpp"
#include "sortcore/io/output_file.hpp"
#include "sortcore/io/partial_files.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

OutputFile open_output(const std::string& path, bool replaces) {
  OutputFile output(path, File::Caching::buffered);
  if (!replaces) output.replace_nothing();
  return output;
}

void commit(OutputFile& output, std::uint64_t bytes) {
  const Unlocked unlocked;
  output.set_size(bytes);
  output.commit();
}

using Range = std::pair<std::uint64_t, std::uint64_t>;

void free_space(const std::vector<std::pair<std::string, std::vector<Range>>>& parts) {
  const Unlocked unlocked;
  for (const auto& [path, ranges] : parts) {
    if (ranges.empty()) continue;
    File file = File::open_to_overwrite(path);
    for (const auto& [offset, bytes] : ranges) file.free_space(offset, bytes);
  }
}

}  // namespace

void register_output_file(py::module_& module) {
  module.def("remove_partial_files_on", &remove_partials_on, py::arg("signal"),
             "Make a signal that ends the process remove files that have a name and are not whole.");
  module.def("free_space", &free_space, py::arg("parts"));
  py::class_<FileVersion>(module, "FileVersion", "The version of a file, to notice a change.")
      .def(py::init<std::string>(), py::arg("path"))
      .def("require_unchanged", &FileVersion::require_unchanged);
  py::class_<OutputFile>(module, "OutputFile",
                         "A file that appears under its name with `commit`, or not at all.")
      .def(py::init(&open_output), py::arg("path"), py::kw_only(), py::arg("replaces") = true)
      .def_property_readonly("descriptor", [](OutputFile& output) { return output.file().descriptor(); })
      .def("commit", &commit, py::arg("bytes"));
}

}  // namespace sortcore::python
