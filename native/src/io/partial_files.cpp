#include "sortcore/io/partial_files.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>

namespace sortcore {
namespace {

enum class State : int { free, being_written, noted };

// A signal handler may read it at any time, so it is neither locked nor allocated.
struct Note {
  std::atomic<State> state{State::free};
  std::array<char, PATH_MAX> path{};
};

constexpr std::size_t most_notes = 48;
std::array<Note, most_notes> notes;

void remove_and_end(int signal) {
  for (Note& note : notes)
    if (note.state.load() == State::noted) ::unlink(note.path.data());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

}  // namespace

void note_partial(const std::string& path) noexcept {
  if (path.size() >= PATH_MAX) return;
  for (Note& note : notes) {
    State expected = State::free;
    if (!note.state.compare_exchange_strong(expected, State::being_written)) continue;
    std::memcpy(note.path.data(), path.c_str(), path.size() + 1);
    note.state = State::noted;
    return;
  }
}

void forget_partial(const std::string& path) noexcept {
  for (Note& note : notes)
    if (note.state.load() == State::noted && path == note.path.data()) note.state = State::free;
}

void remove_partials_on(int signal) noexcept {
  struct sigaction now{};
  if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN) return;
  std::signal(signal, remove_and_end);
}

}  // namespace sortcore
