// Files that have a name before they are whole, where the file system has no files without one: a signal that
// ends the process takes them away.
#pragma once

#include <string>

namespace sortcore {

// From now on `path` is removed when a signal ends the process, which nobody may rely on: there is room for
// some dozens. Threads may call it at once.
void note_partial(const std::string& path) noexcept;
// It is whole, or removed.
void forget_partial(const std::string& path) noexcept;
// Makes a signal that would end the process remove what is noted, and then end it as it would have. One that
// is ignored stays so.
void remove_partials_on(int signal) noexcept;

}  // namespace sortcore
