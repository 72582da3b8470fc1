#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "register.hpp"
#include "sortcore/columns/chunked_rows.hpp"
#include "sortcore/columns/text_types.hpp"
#include "sortcore/columns/value_hashes.hpp"
#include "sortcore/error.hpp"
#include "sortcore/records/record_order.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

// Views of buffers, which keep them alive.
class ChunkViews {
 public:
  explicit ChunkViews(const std::vector<py::buffer>& buffers) {
    for (const py::buffer& buffer : buffers) spans_.push_back(add(buffer));
  }
  std::span<const std::byte> add(const py::buffer& buffer) {
    views_.push_back(std::make_unique<BytesView>(buffer, BytesView::Access::read, "a chunk"));
    return views_.back()->bytes();
  }
  std::span<const ColumnChunk> spans() const noexcept { return spans_; }

 private:
  std::vector<std::unique_ptr<BytesView>> views_;
  std::vector<ColumnChunk> spans_;
};

// Numbers of 32 or 64 bits in a buffer.
template <typename Number>
class NumbersOf {
 public:
  NumbersOf(const py::buffer& buffer, BytesView::Access access, const char* name)
      : view_(buffer, access, name) {
    const auto address = reinterpret_cast<std::uintptr_t>(view_.bytes().data());
    if (view_.bytes().size() % sizeof(Number) != 0 || address % alignof(Number) != 0) {
      throw Error(ErrorCode::bad_input,
                  sizeof(Number) == 4 ? "row numbers must be 32 bits each" : "hashes must be 64 bits each");
    }
  }
  std::span<const Number> get() const noexcept {
    return {reinterpret_cast<const Number*>(view_.bytes().data()), view_.bytes().size() / sizeof(Number)};
  }
  std::span<Number> get_writable() const noexcept {
    return {reinterpret_cast<Number*>(view_.writable_bytes().data()), view_.bytes().size() / sizeof(Number)};
  }

 private:
  BytesView view_;
};
using Numbers = NumbersOf<std::uint32_t>;
using Hashes = NumbersOf<std::uint64_t>;

void gather_values(const ChunkedRows& self, const std::vector<py::buffer>& chunks, const py::buffer& rows,
                   const py::buffer& out, std::size_t width) {
  const ChunkViews from(chunks);
  const Numbers wanted(rows, BytesView::Access::read, "rows");
  const BytesView to(out, BytesView::Access::write, "out");
  const Unlocked unlocked;
  self.gather_values(from.spans(), width, wanted.get(), to.writable_bytes());
}

using Bits = std::pair<std::optional<py::buffer>, std::uint64_t>;

void gather_bits(const ChunkedRows& self, const std::vector<Bits>& chunks, const py::buffer& rows,
                 const py::buffer& out) {
  ChunkViews views({});
  std::vector<BitChunk> from;
  for (const auto& [buffer, first] : chunks) {
    from.push_back(buffer ? BitChunk{views.add(*buffer), first} : BitChunk{});
  }
  const Numbers wanted(rows, BytesView::Access::read, "rows");
  const BytesView to(out, BytesView::Access::write, "out");
  const Unlocked unlocked;
  self.gather_bits(from, wanted.get(), to.writable_bytes());
}

std::uint64_t gather_offsets(const ChunkedRows& self, const std::vector<py::buffer>& offsets,
                             const py::buffer& rows, const py::buffer& out, std::size_t offset_bytes) {
  const ChunkViews from(offsets);
  const Numbers wanted(rows, BytesView::Access::read, "rows");
  const BytesView to(out, BytesView::Access::write, "out");
  const Unlocked unlocked;
  return self.gather_offsets(from.spans(), offset_bytes, wanted.get(), to.writable_bytes());
}

void gather_texts(const ChunkedRows& self, const std::vector<py::buffer>& offsets,
                  const std::vector<py::buffer>& texts, const py::buffer& rows, const py::buffer& out,
                  std::size_t offset_bytes) {
  const ChunkViews from(offsets);
  const ChunkViews text(texts);
  const Numbers wanted(rows, BytesView::Access::read, "rows");
  const BytesView to(out, BytesView::Access::write, "out");
  const Unlocked unlocked;
  self.gather_texts(from.spans(), offset_bytes, text.spans(), wanted.get(), to.writable_bytes());
}

// The numbers of the records in sorted order, compared as a whole; equal ones keep their order.
void record_order(const py::buffer& records, const py::buffer& out, std::uint32_t record_bytes,
                  unsigned threads) {
  const BytesView from(records, BytesView::Access::read, "records");
  const Numbers to(out, BytesView::Access::write, "out");
  const Unlocked unlocked;
  sortcore::record_order(from.bytes(), record_bytes, threads, to.get_writable());
}

std::uint8_t types_of_texts(std::uint64_t rows, const Bits& validity, const py::buffer& offsets,
                            const std::optional<py::buffer>& texts, std::uint8_t able) {
  ChunkViews views({});
  const BitChunk valid = validity.first ? BitChunk{views.add(*validity.first), validity.second} : BitChunk{};
  const auto from = views.add(offsets);
  const auto bytes = texts ? views.add(*texts) : ColumnChunk{};
  const Unlocked unlocked;
  return sortcore::types_of_texts(rows, valid, from, bytes, able);
}

void hash_values(const py::buffer& values, const py::buffer& out, std::size_t width) {
  const BytesView from(values, BytesView::Access::read, "values");
  const Hashes to(out, BytesView::Access::write, "out");
  const Unlocked unlocked;
  sortcore::hash_values(from.bytes(), width, to.get_writable());
}

void hash_texts(const py::buffer& offsets, const py::buffer& texts, const py::buffer& out,
                std::size_t offset_bytes) {
  const BytesView from(offsets, BytesView::Access::read, "offsets");
  const BytesView bytes(texts, BytesView::Access::read, "texts");
  const Hashes to(out, BytesView::Access::write, "out");
  const Unlocked unlocked;
  sortcore::hash_texts(from.bytes(), offset_bytes, bytes.bytes(), to.get_writable());
}

std::uint64_t add_hashes(const py::buffer& hashes, const py::buffer& rows, std::uint64_t place) {
  const Hashes from(hashes, BytesView::Access::read, "hashes");
  const Hashes to(rows, BytesView::Access::write, "rows");
  const Unlocked unlocked;
  return sortcore::add_hashes(from.get(), place, to.get_writable());
}

}  // namespace

void register_columns(py::module_& module) {
  py::class_<ChunkedRows>(module, "ChunkedRows", "Rows of a table in chunks, copied in any order.")
      .def(py::init([](const std::vector<std::uint64_t>& chunk_rows) { return ChunkedRows(chunk_rows); }),
           py::arg("chunk_rows"))
      .def_property_readonly("rows", &ChunkedRows::rows)
      .def("gather_values", &gather_values, py::arg("chunks"), py::arg("rows"), py::arg("out"), py::kw_only(),
           py::arg("width"))
      .def("gather_bits", &gather_bits, py::arg("chunks"), py::arg("rows"), py::arg("out"))
      .def("gather_offsets", &gather_offsets, py::arg("offsets"), py::arg("rows"), py::arg("out"),
           py::kw_only(), py::arg("offset_bytes"))
      .def("gather_texts", &gather_texts, py::arg("offsets"), py::arg("texts"), py::arg("rows"),
           py::arg("out"), py::kw_only(), py::arg("offset_bytes"));
  module.def("record_order", &record_order, py::arg("records"), py::arg("out"), py::kw_only(),
             py::arg("record_bytes"), py::arg("threads") = 0);
  module.def("types_of_texts", &types_of_texts, py::arg("rows"), py::kw_only(), py::arg("validity"),
             py::arg("offsets"), py::arg("texts"), py::arg("able"));
  module.def("hash_values", &hash_values, py::arg("values"), py::arg("out"), py::kw_only(), py::arg("width"));
  module.def("hash_texts", &hash_texts, py::arg("offsets"), py::arg("texts"), py::arg("out"), py::kw_only(),
             py::arg("offset_bytes"));
  module.def("add_hashes", &add_hashes, py::arg("hashes"), py::arg("rows"), py::kw_only(), py::arg("place"));
}

}  // namespace sortcore::python
