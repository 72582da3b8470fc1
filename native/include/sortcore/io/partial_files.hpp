// Files that have a name before they are complete, where the file system has no files without one: a signal
// that ends the process removes them.
#pragma once

#include <string>

namespace sortcore {

// From now on `path` is removed when a signal ends the process, without guarantee: there is room for some
// dozens. Threads may call it at once.
void note_partial(const std::string& path) noexcept;
// It is complete, or removed.
void forget_partial(const std::string& path) noexcept;
// Makes a signal that would end the process remove the noted files first, and then end it as before. An
// ignored signal stays ignored.
void remove_partials_on(int signal) noexcept;

}  // namespace sortcore
