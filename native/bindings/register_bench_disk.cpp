#include <pybind11/stl.h>

#include <string>
#include <utility>
#include <vector>

#include "register.hpp"
#include "sortcore/bench/disk_bench.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

py::dict volume_dict(const VolumeReport& volume) {
  return py::dict(py::arg("directory") = volume.directory, py::arg("is_written") = volume.is_written,
                  py::arg("is_direct") = volume.is_direct,
                  py::arg("is_preallocated") = volume.is_preallocated, py::arg("bytes") = volume.bytes,
                  py::arg("bytes_by_interval") = volume.bytes_by_interval);
}

py::list bench(std::vector<std::string> read_directories, std::vector<std::string> write_directories,
               double seconds, double warm_up_s, double interval_s, std::uint64_t file_bytes,
               unsigned queue_depth, unsigned partitions, std::size_t read_block_bytes,
               std::size_t write_block_bytes, std::size_t stripe_bytes, bool allow_direct,
               Progress* progress) {
  const DiskBenchRequest request{.read_directories = std::move(read_directories),
                                 .write_directories = std::move(write_directories),
                                 .seconds = seconds,
                                 .warm_up_s = warm_up_s,
                                 .interval_s = interval_s,
                                 .file_bytes = file_bytes,
                                 .queue_depth = queue_depth,
                                 .partitions = partitions,
                                 .read_block_bytes = read_block_bytes,
                                 .write_block_bytes = write_block_bytes,
                                 .stripe_bytes = stripe_bytes,
                                 .allow_direct = allow_direct};
  const std::vector<VolumeReport> volumes = [&] {
    const Unlocked unlocked;
    return bench_disk(request, progress);
  }();
  py::list reports;
  for (const VolumeReport& volume : volumes) reports.append(volume_dict(volume));
  return reports;
}

}  // namespace

void register_bench_disk(py::module_& module) {
  const DiskBenchRequest usual;
  module.def(
      "bench_disk", &bench, py::arg("read_directories"), py::arg("write_directories"), py::kw_only(),
      py::arg("seconds"), py::arg("warm_up_s") = usual.warm_up_s, py::arg("interval_s") = usual.interval_s,
      py::arg("file_bytes") = usual.file_bytes, py::arg("queue_depth") = usual.queue_depth,
      py::arg("partitions") = usual.partitions, py::arg("read_block_bytes") = usual.read_block_bytes,
      py::arg("write_block_bytes") = usual.write_block_bytes, py::arg("stripe_bytes") = usual.stripe_bytes,
      py::arg("allow_direct") = true, py::arg("progress") = py::none());
}

}  // namespace sortcore::python
