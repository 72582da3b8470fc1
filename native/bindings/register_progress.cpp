#include "register.hpp"
#include "sortcore/progress.hpp"

namespace py = pybind11;

namespace sortcore::python {

void register_progress(py::module_& module) {
  py::class_<Progress>(module, "Progress",
                       "Watched and cancelled from another thread while an operation runs.")
      .def(py::init<>())
      .def_property_readonly("bytes_done", &Progress::bytes_done)
      .def_property_readonly("bytes_total", &Progress::bytes_total)
      .def_property_readonly("phase", &Progress::phase)
      .def_property_readonly("is_cancelled", &Progress::is_cancelled)
      .def("begin_phase", &Progress::begin_phase, py::arg("phase"), py::kw_only(), py::arg("bytes_total"))
      .def("cancel", &Progress::cancel);
}

}  // namespace sortcore::python
