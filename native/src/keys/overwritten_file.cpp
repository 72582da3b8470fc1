#include "keys/overwritten_file.hpp"

#include <algorithm>

#include "sortcore/buffer.hpp"
#include "sortcore/io/scratch_files.hpp"

namespace sortcore {

OverwrittenFile::OverwrittenFile(const std::string& path, const std::string& directory)
    : target_(File::open_to_overwrite(path)), scratch_(create_unlinked(directory, File::Caching::buffered)) {}

void OverwrittenFile::finish(std::uint64_t bytes, OutputFile::Durability durability) {
  constexpr std::uint64_t block_bytes = std::uint64_t{1} << 20;
  Buffer block(block_bytes);
  target_.set_size(0);
  for (std::uint64_t at = 0; at < bytes; at += block_bytes) {
    const std::uint64_t part = std::min(block_bytes, bytes - at);
    scratch_.read_exactly(block.data(), part, at);
    target_.write_exactly(block.data(), part, at);
  }
  if (durability == OutputFile::Durability::on_disk) target_.sync();
}

}  // namespace sortcore
