// The keys of a line as one string of bytes, so that lines compare as their strings do.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sortcore/keys/growing_bytes.hpp"
#include "sortcore/keys/key_order.hpp"

namespace sortcore {

class CsvFields;

// For one thread. No string is a prefix of another.
class LineEncoder {
 public:
  explicit LineEncoder(const KeyOrder& order);
  LineEncoder(LineEncoder&&) noexcept;
  ~LineEncoder();

  // `line` comes without its end. A blank line among rows of CSV comes after all of them. Throws
  // Error(bad_record) for a row that violates its format.
  void append(std::span<const std::byte> line, GrowingBytes& to);
  // Estimate of the bytes of a line's keys before they are made: numbers and the like have few, whatever
  // follows them. Throws as `append`.
  std::uint64_t about_key_bytes(std::span<const std::byte> line);

 private:
  // Translation of a byte before comparison.
  struct Translation {
    std::array<std::byte, 256> to{};
    std::array<bool, 256> keeps{};
  };
  struct Part {
    KeyPart key;
    std::optional<Translation> translation;
  };
  static std::optional<Translation> translation_of(const KeyPart& part);
  std::span<const std::byte> translated(std::span<const std::byte> key, const Translation& translation);
  std::span<const std::byte> turned_round(std::span<const std::byte> key);
  std::byte* encode(std::span<const std::byte> key, const KeyPart& part, std::byte* to) const;
  void append_key(std::span<const std::byte> key, const Part& part, GrowingBytes& to);
  void append_column(const Part& part, GrowingBytes& to);

  std::vector<Part> parts_;
  std::optional<std::byte> separator_;
  std::array<std::byte, 16> random_seed_;
  std::vector<std::byte> scratch_;
  std::unique_ptr<CsvFields> fields_;
};

}  // namespace sortcore
