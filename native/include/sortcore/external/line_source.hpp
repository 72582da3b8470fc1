// Text files, read in blocks of whole lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sortcore/external/block_source.hpp"
#include "sortcore/external/external_plan.hpp"
#include "sortcore/io/lz4.hpp"

namespace sortcore {

// Reads a stride, and on to the end of the line cut by it; a missing last newline is added.
class LineFilesSource : public FilesSource {
 public:
  LineFilesSource(std::vector<InputFile> inputs, const ExternalPlan& plan);

  std::optional<SourceBlock> next(std::byte* into, StageClock& clock) override;

 protected:
  std::span<const std::byte> usable(std::span<const std::byte> window, std::uint64_t offset) const override;
  std::size_t least_window_bytes() const override { return 1; }

 private:
  std::size_t longest_line_bytes_;
};

// Estimates from some windows of a file.
struct LineSample {
  std::uint64_t mean_line_bytes;       // an estimate from the available bytes if no line ends; at least 1
  std::optional<double> packed_share;  // share that remains after LZ4; nothing without it
};
LineSample sample_lines(File& file, std::uint64_t bytes, const Lz4* lz4);

}  // namespace sortcore
