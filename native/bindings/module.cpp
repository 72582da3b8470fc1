// The Python module `planner._sortcore`; imported by planner/native.py alone.
#include <pybind11/pybind11.h>

#include "register.hpp"

PYBIND11_MODULE(_sortcore, module) {
  module.doc() =
      "The sort core: generate, sort, validate. Large data crosses as buffers or paths, never as objects.";
  sortcore::python::register_errors(module);
  sortcore::python::register_progress(module);
  sortcore::python::register_generate(module);
  sortcore::python::register_validate(module);
  sortcore::python::register_record_sort(module);
  sortcore::python::register_sort_files(module);
  sortcore::python::register_sort_text(module);
  sortcore::python::register_output_file(module);
  sortcore::python::register_columns(module);
  sortcore::python::register_packed_rows(module);
  sortcore::python::register_lines(module);
  sortcore::python::register_exchange(module);
  sortcore::python::register_bench_disk(module);
  sortcore::python::register_bench_small_io(module);
  sortcore::python::register_bench_net(module);
}
