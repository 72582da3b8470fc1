#include <pybind11/stl.h>

#include <cstring>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "convert.hpp"
#include "register.hpp"
#include "sortcore/exchange/parts.hpp"
#include "unlocked.hpp"

namespace py = pybind11;

namespace sortcore::python {
namespace {

std::chrono::milliseconds milliseconds_of(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

void send_files(int socket, const std::vector<std::string>& folders,
                const std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>>& parts,
                double silent_s) {
  const Unlocked unlocked;
  std::vector<FilePart> wanted;
  wanted.reserve(parts.size());
  for (const auto& [name, offset, bytes] : parts) wanted.push_back({name, offset, bytes});
  send_parts(socket, folders, wanted, milliseconds_of(silent_s));
}

std::vector<std::span<std::byte>> places_of(std::span<std::byte> into,
                                            const std::vector<std::uint64_t>& sizes) {
  std::vector<std::span<std::byte>> places;
  for (const std::uint64_t bytes : sizes) {
    if (bytes > into.size()) throw std::invalid_argument("the parts are longer than into");
    places.push_back(into.first(bytes));
    into = into.subspan(bytes);
  }
  return places;
}

std::vector<bool> receive(const std::vector<std::pair<int, std::vector<std::size_t>>>& connections,
                          const py::buffer& into, const std::vector<std::uint64_t>& sizes,
                          const py::buffer& states, double silent_s) {
  const BytesView into_view(into, BytesView::Access::write, "into");
  const BytesView states_view(states, BytesView::Access::write, "states");
  const Unlocked unlocked;
  const auto places = places_of(into_view.writable_bytes(), sizes);
  const auto bytes = states_view.writable_bytes();
  if (bytes.size() != sizes.size()) throw std::invalid_argument("states has not a byte for each part");
  std::vector<Answer> answers;
  for (const auto& [socket, parts] : connections) {
    for (const std::size_t part : parts) {
      if (part >= sizes.size()) throw std::invalid_argument("no part has the number " + std::to_string(part));
    }
    answers.push_back({socket, parts});
  }
  const std::span<std::uint8_t> noted(reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size());
  return receive_parts(answers, places, noted, milliseconds_of(silent_s));
}

}  // namespace

void register_exchange(py::module_& module) {
  module.def("send_parts", &send_files, py::arg("socket"), py::arg("folders"), py::arg("parts"),
             py::kw_only(), py::arg("silent_s"),
             "Answer a request for parts (name, offset, bytes) of files in the first of some folders that "
             "has them.");
  module.def(
      "receive_parts", &receive, py::arg("connections"), py::arg("into"), py::kw_only(), py::arg("sizes"),
      py::arg("states"), py::arg("silent_s"),
      "Receive the parts requested from each connection (socket, numbers of parts), one after another in "
      "`into`; return for each whether its answer came whole.");
}

}  // namespace sortcore::python
