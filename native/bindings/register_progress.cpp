#include "register.hpp"
#include "sortcore/progress.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

// Wraps a method so that it throws in a forked child.
template <typename Result, typename... Arguments>
auto method_of_progress(Result (Progress::*method)(Arguments...) const noexcept) {
  return [method](const Progress& self, Arguments... arguments) {
    self.check_process();
    return (self.*method)(arguments...);
  };
}
template <typename... Arguments>
auto method_of_progress(void (Progress::*method)(Arguments...) noexcept) {
  return [method](Progress& self, Arguments... arguments) {
    self.check_process();
    (self.*method)(arguments...);
  };
}

}  // namespace

void register_progress(py::module_& module) {
  py::class_<Progress>(module, "Progress",
                       "Watched and cancelled from another thread while an operation runs.")
      .def(py::init<>())
      .def_property_readonly("bytes_done", method_of_progress(&Progress::bytes_done))
      .def_property_readonly("bytes_total", method_of_progress(&Progress::bytes_total))
      .def_property_readonly("phase", method_of_progress(&Progress::phase))
      .def_property_readonly("is_cancelled", method_of_progress(&Progress::is_cancelled))
      .def("begin_phase", method_of_progress(&Progress::begin_phase), py::arg("phase"), py::kw_only(),
           py::arg("bytes_total"))
      .def("add_bytes", method_of_progress(&Progress::add_bytes), py::arg("bytes"))
      .def("cancel", method_of_progress(&Progress::cancel));
}

}  // namespace sortcore::python
