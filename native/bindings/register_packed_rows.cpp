#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "register.hpp"
#include "sortcore/columns/packed_rows.hpp"
#include "sortcore/error.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

using Optional = std::optional<py::buffer>;
// Validity and its first bit; values, offsets or bits and their first bit; texts.
using Input = std::tuple<Optional, std::uint64_t, Optional, std::uint64_t, Optional>;
using Output = std::tuple<Optional, py::buffer, Optional>;

PackedColumn column_of(const std::pair<std::string, std::uint32_t>& named) {
  using Kind = PackedColumn::Kind;
  const auto& [kind, bytes] = named;
  if (kind == "value") return {Kind::value, bytes};
  if (kind == "bit") return {Kind::bit, bytes};
  if (kind == "text") return {Kind::text, bytes};
  throw Error(ErrorCode::bad_input, "a column is a value, a bit or a text");
}

std::unique_ptr<RowPacker> make_packer(const std::vector<std::pair<std::string, std::uint32_t>>& named) {
  std::vector<PackedColumn> columns;
  for (const auto& column : named) columns.push_back(column_of(column));
  return std::make_unique<RowPacker>(std::move(columns));
}

// Views of buffers, which keep them alive.
class Views {
 public:
  std::span<const std::byte> read(const Optional& buffer) {
    return buffer ? view(*buffer, BytesView::Access::read).bytes() : std::span<const std::byte>{};
  }
  std::span<std::byte> write(const py::buffer& buffer) {
    return view(buffer, BytesView::Access::write).writable_bytes();
  }
  std::span<std::byte> write(const Optional& buffer) {
    return buffer ? write(*buffer) : std::span<std::byte>{};
  }

 private:
  const BytesView& view(const py::buffer& buffer, BytesView::Access access) {
    views_.push_back(std::make_unique<BytesView>(buffer, access, "a column"));
    return *views_.back();
  }

  std::vector<std::unique_ptr<BytesView>> views_;
};

std::shared_ptr<PackedRows> pack(RowPacker& self, std::uint64_t rows, const std::vector<Input>& columns) {
  Views views;
  std::vector<PackedInput> inputs;
  for (const auto& [validity, first_valid, values, first_bit, texts] : columns) {
    const auto of_values = views.read(values);
    inputs.push_back({.validity = {views.read(validity), first_valid},
                      .values = of_values,
                      .bits = {of_values, first_bit},
                      .texts = views.read(texts)});
  }
  const Unlocked unlocked;
  return std::const_pointer_cast<PackedRows>(self.pack(rows, inputs));
}

std::vector<std::uint64_t> take(const PackedTable& self, const py::buffer& rows,
                                const std::vector<Output>& columns) {
  Views views;
  const auto numbers = views.read(Optional(rows));
  const auto address = reinterpret_cast<std::uintptr_t>(numbers.data());
  if (numbers.size() % sizeof(std::uint32_t) != 0 || address % alignof(std::uint32_t) != 0)
    throw Error(ErrorCode::bad_input, "row numbers must be 32 bits each");
  const std::span wanted(reinterpret_cast<const std::uint32_t*>(numbers.data()), numbers.size() / 4);
  std::vector<PackedOutput> outputs;
  for (const auto& [validity, values, texts] : columns)
    outputs.push_back({views.write(validity), views.write(values), views.write(texts)});
  const Unlocked unlocked;
  return self.take(wanted, outputs);
}

PackedTable make_table(const std::vector<std::shared_ptr<PackedRows>>& batches) {
  return PackedTable({batches.begin(), batches.end()});
}

}  // namespace

void register_packed_rows(py::module_& module) {
  py::class_<PackedRows, std::shared_ptr<PackedRows>>(module, "PackedRows", "Packed rows of a batch.")
      .def_property_readonly("rows", &PackedRows::rows)
      .def_property_readonly("nbytes", &PackedRows::bytes)
      .def("has_nulls", &PackedRows::has_nulls, py::arg("column"))
      .def("text_bytes", &PackedRows::text_bytes, py::arg("column"));
  py::class_<RowPacker>(module, "RowPacker", "Packs batches of columns row by row.")
      .def(py::init(&make_packer), py::arg("columns"))
      .def("pack", &pack, py::arg("rows"), py::arg("columns"));
  py::class_<PackedTable>(module, "PackedTable", "Packed rows of several batches, copied in any order.")
      .def(py::init(&make_table), py::arg("batches"))
      .def("take", &take, py::arg("rows"), py::arg("out"));
}

}  // namespace sortcore::python
