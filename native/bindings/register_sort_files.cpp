#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "convert.hpp"
#include "register.hpp"
#include "sortcore/external/sort_files.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

// Converts a report to plain dicts and lists; planner.sorting.records.local adds the types.
py::dict stage_dict(const StageReport& stage) {
  return py::dict(py::arg("name") = stage.name, py::arg("threads") = stage.threads,
                  py::arg("working_s") = stage.working_s, py::arg("waiting_s") = stage.waiting_s,
                  py::arg("bytes") = stage.bytes);
}

py::dict phase_dict(const PhaseReport& phase) {
  py::list stages;
  for (const StageReport& stage : phase.stages) stages.append(stage_dict(stage));
  const py::dict meetings(
      py::arg("hand_overs") = phase.meetings.hand_overs, py::arg("lock_waits") = phase.meetings.lock_waits,
      py::arg("sleeps") = phase.meetings.sleeps, py::arg("idle_wakes") = phase.meetings.idle_wakes,
      py::arg("threads_started") = phase.threads_started);
  return py::dict(py::arg("name") = phase.name, py::arg("seconds") = phase.seconds,
                  py::arg("stages") = stages, py::arg("meetings") = meetings);
}

py::dict report_dict(const SortReport& report) {
  py::list phases;
  for (const PhaseReport& phase : report.phases) phases.append(phase_dict(phase));
  py::list choices;
  for (const Choice& choice : report.choices) {
    choices.append(py::dict(py::arg("name") = choice.name, py::arg("value") = choice.value,
                            py::arg("reason") = choice.reason));
  }
  return py::dict(
      py::arg("mode") = report.mode, py::arg("records") = report.records,
      py::arg("input_bytes") = report.input_bytes, py::arg("seconds") = report.seconds,
      py::arg("input_bytes_read") = report.input_bytes_read,
      py::arg("sample_bytes_read") = report.sample_bytes_read,
      py::arg("temporary_bytes_written") = report.temporary_bytes_written,
      py::arg("temporary_bytes_read") = report.temporary_bytes_read,
      py::arg("output_bytes_written") = report.output_bytes_written,
      py::arg("kept_bytes") = report.kept_bytes, py::arg("spilled_bytes") = report.spilled_bytes,
      py::arg("packed_bytes") = report.packed_bytes, py::arg("packed_to_bytes") = report.packed_to_bytes,
      py::arg("partitions") = report.partitions, py::arg("one_key_partitions") = report.one_key_partitions,
      py::arg("partitions_split_again") = report.partitions_split_again, py::arg("phases") = phases,
      py::arg("choices") = choices);
}

py::dict sort_paths(std::vector<std::string> inputs, std::vector<std::string> outputs,
                    std::vector<std::string> replicas, std::vector<std::string> temporary_directories,
                    std::uint32_t record_bytes, std::uint32_t key_offset, std::uint32_t key_bytes,
                    bool stable, std::uint64_t memory_bytes, unsigned threads, unsigned queue_depth,
                    bool allow_direct, unsigned passes, const std::string& spill, bool replaces,
                    Progress* progress) {
  if (passes > 2) throw py::value_error("passes must be 1, 2, or 0 to choose");
  SortFilesRequest request;
  request.inputs = std::move(inputs);
  request.outputs = std::move(outputs);
  request.replicas = std::move(replicas);
  request.temporary_directories = std::move(temporary_directories);
  request.format = {.record_bytes = record_bytes, .key_offset = key_offset, .key_bytes = key_bytes};
  request.stable = stable;
  request.memory_bytes = memory_bytes;
  request.threads = threads;
  request.queue_depth = queue_depth;
  request.allow_direct = allow_direct;
  request.passes = static_cast<SortFilesRequest::Passes>(passes);
  request.spill = to_spill(spill);
  request.replaces = replaces;
  const SortReport report = [&] {
    const Unlocked unlocked;
    return sort_files(request, progress);
  }();
  return report_dict(report);
}

}  // namespace

void register_sort_files(py::module_& module) {
  module.def("sort_files", &sort_paths, py::arg("inputs"), py::arg("outputs"), py::kw_only(),
             py::arg("replicas") = std::vector<std::string>{},
             py::arg("temporary_directories") = std::vector<std::string>{}, py::arg("record_bytes") = 100,
             py::arg("key_offset") = 0, py::arg("key_bytes") = 10, py::arg("stable") = false,
             py::arg("memory_bytes") = 0, py::arg("threads") = 0, py::arg("queue_depth") = 0,
             py::arg("allow_direct") = true, py::arg("passes") = 0, py::arg("spill") = "auto",
             py::arg("replaces") = true, py::arg("progress") = py::none());
}

}  // namespace sortcore::python
