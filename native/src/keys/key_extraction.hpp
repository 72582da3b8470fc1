// Extraction of a key from its line.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "sortcore/keys/key_order.hpp"

namespace sortcore {

// `line` comes without its end. Empty if the key ends before it begins.
std::span<const std::byte> extract_key(std::span<const std::byte> line, const KeyPart& part,
                                       std::optional<std::byte> separator) noexcept;

}  // namespace sortcore
