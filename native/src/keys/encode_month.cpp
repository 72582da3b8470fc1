#include <algorithm>
#include <string_view>

#include "keys/ascii_classes.hpp"
#include "keys/encodings.hpp"

namespace sortcore {

std::byte* encode_month(std::span<const std::byte> key, std::byte* to) noexcept {
  constexpr std::string_view names = "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC";
  constexpr std::size_t letters = 3;
  key = key.subspan(static_cast<std::size_t>(std::ranges::find_if_not(key, is_blank) - key.begin()));
  std::uint8_t month = 0;
  for (std::size_t at = 0; key.size() >= letters && month == 0 && at < names.size(); at += letters) {
    const auto name = std::as_bytes(std::span(names)).subspan(at, letters);
    if (std::ranges::equal(key.first(letters), name, {}, to_upper))
      month = static_cast<std::uint8_t>(at / letters + 1);
  }
  *to++ = static_cast<std::byte>(month);
  return to;
}

}  // namespace sortcore
