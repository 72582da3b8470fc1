#include <pybind11/gil_safe_call_once.h>

#include "register.hpp"
#include "sortcore/error.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

PYBIND11_CONSTINIT py::gil_safe_call_once_and_store<py::object> record_error;
PYBIND11_CONSTINIT py::gil_safe_call_once_and_store<py::object> cancelled;

// OSError(errno, message, path) where a path is known, as Python's own file errors have it.
void raise_os_error(const Error& error) {
  py::tuple arguments = py::make_tuple(error.system_errno(), error.what());
  if (!error.path().empty()) arguments += py::make_tuple(error.path());
  PyErr_SetObject(PyExc_OSError, arguments.ptr());
}

void raise(const Error& error) {
  switch (error.code()) {
    case ErrorCode::io:
      return raise_os_error(error);
    case ErrorCode::bad_input:
      return PyErr_SetString(PyExc_ValueError, error.what());
    case ErrorCode::bad_record:
      return PyErr_SetString(record_error.get_stored().ptr(), error.what());
    case ErrorCode::too_little_memory:
      return PyErr_SetString(PyExc_MemoryError, error.what());
    case ErrorCode::cancelled:
      return PyErr_SetString(cancelled.get_stored().ptr(), error.what());
  }
}

}  // namespace

void register_errors(py::module_& module) {
  record_error.call_once_and_store_result(
      [&] { return py::exception<Error>(module, "RecordError", PyExc_ValueError); });
  cancelled.call_once_and_store_result([&] { return py::exception<Error>(module, "CancelledError"); });
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Error& error) {
      raise(error);
    }
  });
}

}  // namespace sortcore::python
