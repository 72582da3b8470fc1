#include "io/descriptors.hpp"

#include <dirent.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace sortcore {
namespace {

std::size_t open_descriptors() {
  constexpr std::size_t others = 3;  // the directory's own descriptor and the names of itself and its parent
  constexpr std::size_t usual = 16;
  struct Closing {
    void operator()(DIR* directory) const { ::closedir(directory); }
  };
  const std::unique_ptr<DIR, Closing> directory(::opendir("/dev/fd"));
  if (!directory) return usual;
  std::size_t entries = 0;
  while (::readdir(directory.get()) != nullptr) ++entries;
  return entries - std::min(entries, others);
}

}  // namespace

std::size_t free_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::size_t>::max();
  const std::size_t taken = open_descriptors();
  return static_cast<std::size_t>(limit.rlim_cur) - std::min<std::size_t>(limit.rlim_cur, taken);
}

}  // namespace sortcore
