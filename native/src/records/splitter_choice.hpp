// The choice of boundaries in a sorted sample of any keys.
#pragma once

#include <cstddef>

namespace sortcore {

// Walks a sorted sample of `count` keys. A partition is closed before a key when it has its share of the
// `partitions`; a key that fills a share gets a partition between two boundaries. `same(i, j)` compares keys
// of the sample; `add(i, is_heavy)` puts a boundary before key i and, if it is heavy, one after it.
template <typename Same, typename Add>
void choose_boundaries(std::size_t count, std::size_t partitions, Same same, Add add) {
  const double share = static_cast<double>(count) / static_cast<double>(partitions);
  double next_close = share;
  bool has_set_apart = false;  // the last boundary is on the side `after` of the key just passed
  for (std::size_t begin = 0, end = 1; begin < count; begin = end++) {
    while (end < count && same(begin, end)) ++end;
    const bool is_heavy = static_cast<double>(end - begin) >= share && end - begin > 1;
    const bool closes = begin > 0 && static_cast<double>(begin) >= next_close && !has_set_apart;
    if (is_heavy || closes) add(begin, is_heavy);
    has_set_apart = is_heavy;
    while (next_close <= static_cast<double>(is_heavy ? end : begin)) next_close += share;
  }
}

}  // namespace sortcore
