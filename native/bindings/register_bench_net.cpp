#include <pybind11/stl.h>

#include <utility>
#include <vector>

#include "register.hpp"
#include "sortcore/bench/traffic.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

py::object broken_or_none(const TrafficReport& report) {
  if (!report.is_broken) return py::none();
  return py::dict(py::arg("was_sending") = report.broken_was_sending, py::arg("index") = report.broken_index,
                  py::arg("after_s") = report.broken_after_s, py::arg("reason") = report.broken_reason);
}

py::dict exchange(std::vector<int> send_sockets, std::vector<int> receive_sockets, double seconds,
                  double warm_up_s, double cool_down_s, double interval_s, double stall_s,
                  Progress* progress) {
  const TrafficRequest request{.send_sockets = std::move(send_sockets),
                               .receive_sockets = std::move(receive_sockets),
                               .seconds = seconds,
                               .warm_up_s = warm_up_s,
                               .cool_down_s = cool_down_s,
                               .interval_s = interval_s,
                               .stall_s = stall_s};
  const TrafficReport report = [&] {
    const Unlocked unlocked;
    return exchange_traffic(request, progress);
  }();
  return py::dict(py::arg("sent_bytes") = report.sent_bytes,
                  py::arg("received_bytes") = report.received_bytes,
                  py::arg("sent_by_interval") = report.sent_by_interval,
                  py::arg("received_by_interval") = report.received_by_interval,
                  py::arg("broken") = broken_or_none(report));
}

}  // namespace

void register_bench_net(py::module_& module) {
  const TrafficRequest usual;
  module.def("exchange_traffic", &exchange, py::arg("send_sockets"), py::arg("receive_sockets"),
             py::kw_only(), py::arg("seconds"), py::arg("warm_up_s") = usual.warm_up_s,
             py::arg("cool_down_s") = usual.cool_down_s, py::arg("interval_s") = usual.interval_s,
             py::arg("stall_s") = usual.stall_s, py::arg("progress") = py::none());
}

}  // namespace sortcore::python
