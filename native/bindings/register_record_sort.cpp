#include <pybind11/stl.h>

#include <memory>
#include <vector>

#include "convert.hpp"
#include "register.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/records/merge.hpp"
#include "sortcore/records/partition.hpp"
#include "sortcore/records/record_sort.hpp"
#include "sortcore/threads.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

RecordFormat make_format(std::uint32_t record_bytes, std::uint32_t key_offset, std::uint32_t key_bytes) {
  return {.record_bytes = record_bytes, .key_offset = key_offset, .key_bytes = key_bytes};
}

void sort_into(const py::buffer& source, const py::buffer& out, std::uint32_t record_bytes,
               std::uint32_t key_offset, std::uint32_t key_bytes, unsigned threads, Progress* progress) {
  const BytesView from(source, BytesView::Access::read, "source");
  const BytesView to(out, BytesView::Access::write, "out");
  refuse_overlap(from.bytes(), to.bytes());
  const Unlocked unlocked;
  sort_records(from.bytes(), to.writable_bytes(), make_format(record_bytes, key_offset, key_bytes), threads,
               progress);
}

void sort_in_place(const py::buffer& records, std::uint32_t record_bytes, std::uint32_t key_offset,
                   std::uint32_t key_bytes, unsigned threads, std::uint64_t spare_memory,
                   Progress* progress) {
  const BytesView view(records, BytesView::Access::write, "records");
  const Unlocked unlocked;
  sort_records_in_place(view.writable_bytes(), make_format(record_bytes, key_offset, key_bytes), threads,
                        spare_memory, progress);
}

Splitters make_splitters(const py::buffer& sample, std::uint32_t key_bytes, std::size_t partitions) {
  const BytesView view(sample, BytesView::Access::read, "sample");
  const Unlocked unlocked;
  return choose_splitters(view.bytes(), key_bytes, partitions);
}

Splitters parse_from(const py::buffer& bytes, std::uint32_t key_bytes) {
  const BytesView view(bytes, BytesView::Access::read, "bytes");
  return parse_splitters(view.bytes(), key_bytes);
}

std::vector<std::uint64_t> partition_into(const py::buffer& source, const py::buffer& out,
                                          const Splitters& splitters, std::uint32_t record_bytes,
                                          std::uint32_t key_offset, unsigned threads) {
  const BytesView from(source, BytesView::Access::read, "source");
  const BytesView to(out, BytesView::Access::write, "out");
  refuse_overlap(from.bytes(), to.bytes());
  const Unlocked unlocked;
  const Partitioner partitioner(make_format(record_bytes, key_offset, splitters.key_bytes()), splitters);
  return partitioner.group(from.bytes(), to.writable_bytes(), threads);
}

py::bytes sample_from(const py::buffer& records, std::size_t count, std::uint64_t seed,
                      std::uint32_t record_bytes, std::uint32_t key_offset, std::uint32_t key_bytes) {
  const BytesView view(records, BytesView::Access::read, "records");
  const RecordFormat format = make_format(record_bytes, key_offset, key_bytes);
  format.check();
  std::vector<std::byte> sample;
  sample_keys(view.bytes(), format, count, seed, sample);
  return to_bytes(sample);
}

void merge_into(const std::vector<py::buffer>& runs, const py::buffer& out, std::uint32_t record_bytes,
                std::uint32_t key_offset, std::uint32_t key_bytes, unsigned threads, Progress* progress) {
  const BytesView to(out, BytesView::Access::write, "out");
  std::vector<std::unique_ptr<BytesView>> views;
  std::vector<std::span<const std::byte>> from;
  for (const py::buffer& run : runs) {
    views.push_back(std::make_unique<BytesView>(run, BytesView::Access::read, "a run"));
    from.push_back(views.back()->bytes());
    refuse_overlap(from.back(), to.bytes());
  }
  const Unlocked unlocked;
  merge_runs(from, to.writable_bytes(), make_format(record_bytes, key_offset, key_bytes), threads, progress);
}

void register_partition(py::module_& module) {
  py::class_<Splitters>(module, "Splitters", "Boundaries between partitions; equal keys never part.")
      .def_property_readonly("partitions", &Splitters::partitions)
      .def_property_readonly("key_bytes", &Splitters::key_bytes)
      .def("holds_one_key", &Splitters::holds_one_key, py::arg("partition"))
      .def("serialize", [](const Splitters& self) { return to_bytes(serialize_splitters(self)); })
      .def_static("parse", &parse_from, py::arg("bytes"), py::kw_only(), py::arg("key_bytes"))
      .def(py::pickle(
          [](const Splitters& self) {
            return py::make_tuple(to_bytes(serialize_splitters(self)), self.key_bytes());
          },
          [](const py::tuple& state) {
            return parse_from(state[0].cast<py::buffer>(), state[1].cast<std::uint32_t>());
          }));
  module.def("sample_keys", &sample_from, py::arg("records"), py::kw_only(), py::arg("count"),
             py::arg("seed") = 0, py::arg("record_bytes") = 100, py::arg("key_offset") = 0,
             py::arg("key_bytes") = 10);
  module.def("choose_splitters", &make_splitters, py::arg("sample"), py::kw_only(), py::arg("key_bytes") = 10,
             py::arg("partitions"));
  module.def("partition_records", &partition_into, py::arg("source"), py::arg("out"), py::arg("splitters"),
             py::kw_only(), py::arg("record_bytes") = 100, py::arg("key_offset") = 0, py::arg("threads") = 0);
}

}  // namespace

void register_record_sort(py::module_& module) {
  module.def("scratch_bytes", &scratch_bytes, py::arg("records"), py::kw_only(), py::arg("threads") = 0);
  module.def(
      "warm_memory",
      [](std::uint64_t bytes, unsigned threads) {
        const Unlocked unlocked;
        Buffer(bytes).prefault(resolve_threads(threads));
      },
      py::arg("bytes"), py::kw_only(), py::arg("threads") = 0);
  module.def("sort_records", &sort_into, py::arg("source"), py::arg("out"), py::kw_only(),
             py::arg("record_bytes") = 100, py::arg("key_offset") = 0, py::arg("key_bytes") = 10,
             py::arg("threads") = 0, py::arg("progress") = py::none());
  module.def("sort_records_in_place", &sort_in_place, py::arg("records"), py::kw_only(),
             py::arg("record_bytes") = 100, py::arg("key_offset") = 0, py::arg("key_bytes") = 10,
             py::arg("threads") = 0, py::arg("spare_memory") = UINT64_MAX, py::arg("progress") = py::none());
  register_partition(module);
  module.def("merge_runs", &merge_into, py::arg("runs"), py::arg("out"), py::kw_only(),
             py::arg("record_bytes") = 100, py::arg("key_offset") = 0, py::arg("key_bytes") = 10,
             py::arg("threads") = 0, py::arg("progress") = py::none());
}

}  // namespace sortcore::python
