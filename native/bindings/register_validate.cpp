#include <pybind11/stl.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>

#include "convert.hpp"
#include "register.hpp"
#include "sortcore/validation/crc32.hpp"
#include "sortcore/validation/validate.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

RecordFormat make_format(std::uint32_t record_bytes, std::uint32_t key_offset, std::uint32_t key_bytes) {
  return {.record_bytes = record_bytes, .key_offset = key_offset, .key_bytes = key_bytes};
}

std::optional<std::uint64_t> first_unordered(const Summary& summary) {
  if (summary.first_unordered == Summary::none) return std::nullopt;
  return summary.first_unordered;
}

Summary validate_buffer(const py::buffer& records, std::uint32_t record_bytes, std::uint32_t key_offset,
                        std::uint32_t key_bytes, unsigned threads) {
  const BytesView view(records, BytesView::Access::read, "records");
  const Unlocked unlocked;
  return validate_records(view.bytes(), make_format(record_bytes, key_offset, key_bytes), threads);
}

Summary validate_path(const std::string& path, std::uint32_t record_bytes, std::uint32_t key_offset,
                      std::uint32_t key_bytes, unsigned threads, Progress* progress) {
  const Unlocked unlocked;
  return validate_file(path, make_format(record_bytes, key_offset, key_bytes), threads, progress);
}

// The CRC-32 of consecutive pieces of `bytes` with the given lengths, which add up to all of it.
void checksum_pieces(const py::buffer& bytes, const py::buffer& lengths, const py::buffer& out) {
  const BytesView view(bytes, BytesView::Access::read, "bytes");
  const BytesView lengths_view(lengths, BytesView::Access::read, "lengths");
  const BytesView out_view(out, BytesView::Access::write, "out");
  const Unlocked unlocked;
  const std::size_t pieces = lengths_view.bytes().size() / sizeof(std::uint64_t);
  if (out_view.writable_bytes().size() != pieces * sizeof(std::uint32_t)) {
    throw std::invalid_argument("out has not 4 bytes for each piece");
  }
  std::span<const std::byte> rest = view.bytes();
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    std::uint64_t length = 0;
    std::memcpy(&length, lengths_view.bytes().data() + piece * sizeof length, sizeof length);
    if (length > rest.size()) throw std::invalid_argument("the pieces are longer than bytes");
    const std::uint32_t checksum = crc32(rest.first(length));
    std::memcpy(out_view.writable_bytes().data() + piece * sizeof checksum, &checksum, sizeof checksum);
    rest = rest.subspan(length);
  }
  if (!rest.empty()) throw std::invalid_argument("the pieces are shorter than bytes");
}

Summary parse(const py::buffer& bytes, const std::string& path) {
  const BytesView view(bytes, BytesView::Access::read, "bytes");
  return parse_summary(view.bytes(), path);
}

void register_summary(py::module_& module) {
  py::class_<Summary>(module, "Summary", "What validation found out about consecutive records.")
      .def_property_readonly("record_bytes", [](const Summary& self) { return self.format.record_bytes; })
      .def_property_readonly("key_offset", [](const Summary& self) { return self.format.key_offset; })
      .def_property_readonly("key_bytes", [](const Summary& self) { return self.format.key_bytes; })
      .def_readonly("records", &Summary::records)
      .def_readonly("unordered", &Summary::unordered)
      .def_property_readonly("first_unordered", &first_unordered)
      .def_readonly("duplicates", &Summary::duplicates)
      .def_property_readonly("checksum", [](const Summary& self) { return from_u128(self.checksum); })
      .def_property_readonly("first_record", [](const Summary& self) { return to_bytes(self.first_record); })
      .def_property_readonly("last_record", [](const Summary& self) { return to_bytes(self.last_record); })
      .def("append", &Summary::append, py::arg("next"))
      .def("serialize", [](const Summary& self) { return to_bytes(serialize_summary(self)); })
      .def_static("parse", &parse, py::arg("bytes"), py::kw_only(), py::arg("path") = "");
}

}  // namespace

void register_validate(py::module_& module) {
  register_summary(module);
  module.def("checksum_pieces", &checksum_pieces, py::arg("bytes"), py::kw_only(), py::arg("lengths"),
             py::arg("out"));
  module.def("validate_records", &validate_buffer, py::arg("records"), py::kw_only(),
             py::arg("record_bytes") = 100, py::arg("key_offset") = 0, py::arg("key_bytes") = 10,
             py::arg("threads") = 0);
  module.def("validate_file", &validate_path, py::arg("path"), py::kw_only(), py::arg("record_bytes") = 100,
             py::arg("key_offset") = 0, py::arg("key_bytes") = 10, py::arg("threads") = 0,
             py::arg("progress") = py::none());
}

}  // namespace sortcore::python
