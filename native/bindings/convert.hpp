// Conversion between Python's values and the core's.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <span>
#include <string>

#include "sortcore/external/packing.hpp"
#include "sortcore/records/record_format.hpp"
#include "sortcore/u128.hpp"

namespace sortcore::python {

// A view of an object's bytes, which stay in place until the view is destroyed. Throws ValueError unless they
// are C-contiguous (nothing is copied) and, on request, writable.
class BytesView {
 public:
  enum class Access { read, write };

  BytesView(const pybind11::buffer& object, Access access, const char* name);
  BytesView(const BytesView&) = delete;
  BytesView& operator=(const BytesView&) = delete;
  ~BytesView() { PyBuffer_Release(&view_); }

  std::span<const std::byte> bytes() const noexcept {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }
  std::span<std::byte> writable_bytes() const noexcept {
    return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

// Throws ValueError if the two share a byte.
void refuse_overlap(std::span<const std::byte> a, std::span<const std::byte> b);

// Throws ValueError outside 0 ... 2^128 - 1.
U128 to_u128(const pybind11::int_& value);
pybind11::int_ from_u128(U128 value);

// "auto", "lz4" or "plain"; throws ValueError for any other word.
Spill to_spill(const std::string& word);

inline pybind11::bytes to_bytes(std::span<const std::byte> bytes) {
  return pybind11::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace sortcore::python
