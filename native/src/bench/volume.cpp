#include "bench/volume.hpp"

#include <algorithm>

#include "bench/bench_file.hpp"
#include "sortcore/io/scratch_files.hpp"

namespace sortcore {
namespace {

std::uint64_t whole_blocks(std::uint64_t bytes, std::size_t block_bytes) {
  return std::max<std::uint64_t>(bytes / block_bytes, 1) * block_bytes;
}

// Bytes that the last stripes need of each member, rounded up to whole stripes.
std::uint64_t member_bytes(std::uint64_t bytes, std::uint64_t stripe_bytes, std::size_t members) {
  const std::uint64_t stripes = (bytes + stripe_bytes - 1) / stripe_bytes;
  return members == 1 ? bytes : (stripes + members - 1) / members * stripe_bytes;
}

}  // namespace

Volume::Member::Member(const std::string& where, std::uint64_t bytes, bool allow_direct, const Window& window)
    : directory(where),
      file(create_unlinked(where, allow_direct ? File::Caching::direct : File::Caching::buffered)),
      is_preallocated(file.preallocate(0, bytes)),
      meter(window) {}

Volume::Volume(const std::vector<std::string>& directories, bool is_written, const DiskBenchRequest& request,
               const Window& window)
    : is_written_(is_written),
      block_bytes_(is_written ? request.write_block_bytes : request.read_block_bytes),
      bytes_(whole_blocks(request.file_bytes * directories.size(), block_bytes_)),
      stripe_bytes_(directories.size() == 1 ? bytes_ : request.stripe_bytes),
      threads_(request.queue_depth * static_cast<unsigned>(directories.size())) {
  const std::uint64_t share = member_bytes(bytes_, stripe_bytes_, directories.size());
  for (const std::string& directory : directories) {
    members_.push_back(std::make_unique<Member>(directory, share, request.allow_direct, window));
  }
}

template <typename Transfer>
void Volume::for_each_piece(std::uint64_t offset, Transfer transfer) {
  for (std::uint64_t done = 0; done < block_bytes_;) {
    const std::uint64_t at = offset + done;
    const std::uint64_t stripe = at / stripe_bytes_;
    const std::uint64_t within = at % stripe_bytes_;
    const auto bytes =
        static_cast<std::size_t>(std::min<std::uint64_t>(stripe_bytes_ - within, block_bytes_ - done));
    transfer(*members_[stripe % members_.size()], done, stripe / members_.size() * stripe_bytes_ + within,
             bytes);
    done += bytes;
  }
}

void Volume::read_next(std::byte* block) {
  for_each_piece(next_offset(),
                 [&](Member& from, std::uint64_t done, std::uint64_t offset, std::size_t bytes) {
                   from.file.read_exactly(block + done, bytes, offset);
                   from.meter.add(bytes);
                 });
}

void Volume::write_next(const std::byte* block) {
  for_each_piece(next_offset(), [&](Member& to, std::uint64_t done, std::uint64_t offset, std::size_t bytes) {
    to.file.write_exactly(block + done, bytes, offset);
    to.meter.add(bytes);
  });
}

bool Volume::fill_next(std::byte* block) {
  const std::uint64_t offset = next_.fetch_add(block_bytes_);
  if (offset >= bytes_) return false;
  fill_with_records(block, block_bytes_, offset);
  for_each_piece(offset, [&](Member& to, std::uint64_t done, std::uint64_t at, std::size_t bytes) {
    to.file.write_exactly(block + done, bytes, at);
  });
  return true;
}

void Volume::finish_filling() {
  for (const auto& member : members_) {
    member->file.sync();
    if (!member->file.is_direct()) forget_cached(member->file);
  }
  next_ = 0;
}

void Volume::add_reports(std::vector<VolumeReport>& reports) const {
  for (const auto& member : members_) {
    reports.push_back({.directory = member->directory,
                       .is_written = is_written_,
                       .is_direct = member->file.is_direct(),
                       .is_preallocated = member->is_preallocated,
                       .bytes = member->meter.bytes(),
                       .bytes_by_interval = member->meter.bytes_by_interval()});
  }
}

}  // namespace sortcore
