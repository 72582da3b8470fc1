#include "convert.hpp"

namespace py = pybind11;

namespace sortcore::python {

BytesView::BytesView(const py::buffer& object, Access access, const char* name) {
  const int flags = access == Access::write ? PyBUF_WRITABLE : PyBUF_SIMPLE;
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) == 0) return;
  py::error_already_set cause;
  const std::string message = std::string(name) + " must be a C-contiguous" +
                              (access == Access::write ? ", writable" : "") +
                              " buffer; nothing is copied silently";
  py::raise_from(cause, PyExc_ValueError, message.c_str());
  throw py::error_already_set();
}

void refuse_overlap(std::span<const std::byte> a, std::span<const std::byte> b) {
  if (a.empty() || b.empty()) return;
  if (a.data() < b.data() + b.size() && b.data() < a.data() + a.size()) {
    throw py::value_error("input and output overlap in memory");
  }
}

Spill to_spill(const std::string& word) {
  if (word == "auto") return Spill::automatic;
  if (word == "lz4") return Spill::lz4;
  if (word == "plain") return Spill::plain;
  throw py::value_error("spill must be auto, lz4 or plain, not " + word);
}

U128 to_u128(const py::int_& value) {
  const py::int_ high = value >> py::int_(64);
  const py::int_ low = value & py::int_(UINT64_MAX);
  try {
    return make_u128(high.cast<std::uint64_t>(), low.cast<std::uint64_t>());
  } catch (const py::cast_error&) {
    throw py::value_error("a record number must lie between 0 and 2^128 - 1");
  }
}

py::int_ from_u128(U128 value) {
  return py::int_((py::int_(high64(value)) << py::int_(64)) | py::int_(low64(value)));
}

}  // namespace sortcore::python
