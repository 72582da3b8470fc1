// Sorting a bucket that is too large for a workspace in the cache: where its entries are, with no memory but
// a list of blocks.
//
// Such buckets are rare: they come of keys so frequent that the sample did not part them, but not equal to
// the end.
#pragma once

#include <cstddef>
#include <vector>

#include "entry.hpp"
#include "entry_blocks.hpp"

namespace sortcore {

// A bucket's entries as if they were one array.
class BlockedEntries {
 public:
  BlockedEntries(const EntryBlocks& blocks, std::size_t bucket);

  std::size_t size() const noexcept { return chains_.back().end; }
  Entry& operator[](std::size_t position) const noexcept {
    const Chain* chain = chains_.data();
    while (position >= chain->end) ++chain;
    const std::size_t within = position - chain->begin;
    return chain->blocks[within / entries_per_block][within % entries_per_block];
  }

 private:
  // What one thread appended: full blocks but the last.
  struct Chain {
    std::size_t begin;
    std::size_t end;
    std::vector<Entry*> blocks;
  };
  std::vector<Chain> chains_;
};

// Ascending, by all bits.
void sort_large_bucket(const BlockedEntries& entries);

}  // namespace sortcore
