#include <pybind11/stl.h>

#include <string>

#include "register.hpp"
#include "sortcore/bench/small_io.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

double seconds_of(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

// Non-empty buckets, as (longest latency in seconds, operations).
py::list histogram_list(const LatencyHistogram& latency) {
  py::list buckets;
  for (std::size_t i = 0; i < LatencyHistogram::buckets; ++i) {
    if (latency.count(i) == 0) continue;
    buckets.append(py::make_tuple(seconds_of(LatencyHistogram::upper_ns(i)), latency.count(i)));
  }
  return buckets;
}

py::dict report_dict(const SmallIoReport& report) {
  py::list quantiles;
  for (const double q : {0.5, 0.9, 0.99, 0.999}) {
    quantiles.append(py::make_tuple(q, seconds_of(report.latency.quantile_ns(q))));
  }
  return py::dict(py::arg("is_direct") = report.is_direct, py::arg("bytes") = report.bytes,
                  py::arg("bytes_by_interval") = report.bytes_by_interval,
                  py::arg("operations") = report.latency.operations(),
                  py::arg("total_latency_s") = seconds_of(report.latency.total_ns()),
                  py::arg("quantiles_s") = quantiles, py::arg("histogram") = histogram_list(report.latency));
}

py::dict run(SmallIoFile& file, std::size_t io_bytes, bool writes, double flush_probability, unsigned threads,
             double seconds, double interval_s, Progress* progress) {
  const SmallIoOperation operation{.io_bytes = io_bytes,
                                   .writes = writes,
                                   .flush_probability = flush_probability,
                                   .threads = threads,
                                   .seconds = seconds,
                                   .interval_s = interval_s};
  const SmallIoReport report = [&] {
    const Unlocked unlocked;
    return file.run(operation, progress);
  }();
  return report_dict(report);
}

}  // namespace

void register_bench_small_io(py::module_& module) {
  py::class_<SmallIoFile>(module, "SmallIoFile", "A nameless file to read and write at random places.")
      .def(py::init<const std::string&, std::uint64_t, Progress*>(), py::arg("directory"), py::kw_only(),
           py::arg("bytes"), py::arg("progress") = py::none(), py::call_guard<Unlocked>())
      .def("run", &run, py::kw_only(), py::arg("io_bytes"), py::arg("writes"), py::arg("flush_probability"),
           py::arg("threads"), py::arg("seconds"), py::arg("interval_s") = 1.0,
           py::arg("progress") = py::none());
}

}  // namespace sortcore::python
