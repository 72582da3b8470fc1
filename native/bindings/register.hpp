// Each concept of the core registers itself with the Python module, in its own register_*.cpp.
#pragma once

#include <pybind11/pybind11.h>

namespace sortcore::python {

void register_errors(pybind11::module_& module);
void register_progress(pybind11::module_& module);
void register_generate(pybind11::module_& module);
void register_validate(pybind11::module_& module);
void register_record_sort(pybind11::module_& module);
void register_sort_files(pybind11::module_& module);
void register_sort_text(pybind11::module_& module);
void register_output_file(pybind11::module_& module);
void register_columns(pybind11::module_& module);
void register_packed_rows(pybind11::module_& module);
void register_lines(pybind11::module_& module);
void register_exchange(pybind11::module_& module);
void register_bench_disk(pybind11::module_& module);
void register_bench_small_io(pybind11::module_& module);
void register_bench_net(pybind11::module_& module);

}  // namespace sortcore::python
