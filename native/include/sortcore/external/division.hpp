// The partitions that one distribution makes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sortcore/external/block_source.hpp"
#include "sortcore/records/partition.hpp"
#include "sortcore/records/record_format.hpp"

namespace sortcore {

// The boundaries of one distribution, of about equal partitions.
class Division {
 public:
  // From a sample of the source; adds the bytes read for it.
  Division(const RecordFormat& format, BlockSource& source, std::size_t partitions,
           std::uint64_t& bytes_read);

  std::size_t partitions() const { return partitioner_.partitions(); }
  // Such a partition needs no sorting.
  bool holds_one_key(std::size_t partition) const {
    return partitioner_.splitters().holds_one_key(partition);
  }
  const Partitioner& partitioner() const noexcept { return partitioner_; }

 private:
  Partitioner partitioner_;
};

}  // namespace sortcore
