#include <pybind11/gil_safe_call_once.h>

#include "register.hpp"
#include "sortcore/error.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

PYBIND11_CONSTINIT py::gil_safe_call_once_and_store<py::object> record_error;
PYBIND11_CONSTINIT py::gil_safe_call_once_and_store<py::object> input_changed;
PYBIND11_CONSTINIT py::gil_safe_call_once_and_store<py::object> cancelled;

// Messages contain paths, which are any bytes, converted as Python does.
py::object text(const std::string& bytes) {
  return py::reinterpret_steal<py::object>(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<Py_ssize_t>(bytes.size())));
}

// OSError(errno, message, path) if a path is known, like Python's own file errors.
void raise_os_error(const Error& error) {
  py::tuple arguments = py::make_tuple(error.system_errno(), text(error.what()));
  if (!error.path().empty()) arguments += py::make_tuple(text(error.path()));
  PyErr_SetObject(PyExc_OSError, arguments.ptr());
}

PyObject* type_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::io:
      return PyExc_OSError;
    case ErrorCode::bad_input:
      return PyExc_ValueError;
    case ErrorCode::bad_record:
      return record_error.get_stored().ptr();
    case ErrorCode::input_changed:
      return input_changed.get_stored().ptr();
    case ErrorCode::too_little_memory:
      return PyExc_MemoryError;
    case ErrorCode::cancelled:
      break;
  }
  return cancelled.get_stored().ptr();
}

void raise(const Error& error) {
  if (error.code() == ErrorCode::io) return raise_os_error(error);
  PyErr_SetObject(type_of(error.code()), text(error.what()).ptr());
}

}  // namespace

void register_errors(py::module_& module) {
  record_error.call_once_and_store_result(
      [&] { return py::exception<Error>(module, "RecordError", PyExc_ValueError); });
  input_changed.call_once_and_store_result([&] { return py::exception<Error>(module, "InputChangedError"); });
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
