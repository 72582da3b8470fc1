// Text files, read in blocks of whole lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sortcore/external/block_source.hpp"
#include "sortcore/external/external_plan.hpp"

namespace sortcore {

// Reads a stride, and on to the end of the line that it cuts; a missing last newline is added.
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

// Of the lines in some windows of a file, or an estimate from what there is if none ends there; at least 1.
std::uint64_t mean_line_bytes(File& file, std::uint64_t bytes);

}  // namespace sortcore
