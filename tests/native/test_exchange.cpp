// The exchange of parts of files over sockets: what is sent is what arrives, and a sender that is lost, or
// says nonsense, ends its own answer only.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "check.hpp"
#include "sortcore/error.hpp"
#include "sortcore/exchange/parts.hpp"
#include "temporary_directory.hpp"

namespace sortcore {
namespace {

using namespace std::chrono_literals;

constexpr auto arrived = static_cast<std::uint8_t>(PartState::arrived);
constexpr auto missing = static_cast<std::uint8_t>(PartState::missing);

// Both ends of a connection.
class Connection {
 public:
  Connection() {
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends_.data()) == 0);
    ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection() {
    for (const int end : ends_) ::close(end);
  }

  int sender() const { return ends_[0]; }
  int receiver() const { return ends_[1]; }
  void cut() const { ::shutdown(ends_[0], SHUT_RDWR); }

 private:
  std::array<int, 2> ends_{};
};

std::string content_of(std::size_t bytes, std::mt19937_64& random) {
  std::string content(bytes, '\0');
  std::ranges::generate(content, [&] { return static_cast<char>(random()); });
  return content;
}

struct Wanted {
  std::vector<FilePart> parts;
  std::vector<std::string> contents;  // "" for a part that is missing
};

// Parts of two files in two folders; some lie beyond the end, some are of no file.
Wanted random_parts(const std::vector<std::string>& folders, std::mt19937_64& random) {
  std::vector<std::string> files;
  for (std::size_t at = 0; at < folders.size(); ++at) {
    files.push_back(content_of(random() % 900'000, random));
    std::ofstream(folders[at] + "/s-" + std::to_string(at)) << files.back();
  }
  Wanted wanted;
  for (std::size_t count = random() % 200; count > 0; --count) {
    const std::size_t file = random() % 3;
    const std::size_t offset = random() % 910'000;
    const std::size_t bytes = random() % 4 == 0 ? 0 : random() % (random() % 8 == 0 ? 600'000 : 20'000);
    wanted.parts.push_back({"s-" + std::to_string(file), offset, bytes});
    const bool is_here = file < files.size() && offset + bytes <= files[file].size();
    wanted.contents.push_back(is_here ? files[file].substr(offset, bytes) : "");
  }
  return wanted;
}

struct Places {
  explicit Places(const std::vector<FilePart>& parts) : states(parts.size()) {
    for (const FilePart& part : parts) memory.emplace_back(part.bytes, std::byte{0});
    for (auto& bytes : memory) spans.emplace_back(bytes);
  }

  std::string text(std::size_t part) const {
    return {reinterpret_cast<const char*>(memory[part].data()), memory[part].size()};
  }

  std::vector<std::vector<std::byte>> memory;
  std::vector<std::span<std::byte>> spans;
  std::vector<std::uint8_t> states;
};

THREADED_TEST(parts_arrive_as_they_are_in_their_files) {
  std::mt19937_64 random(1);
  for (std::uint64_t turn = 0; turn < 40 * check::effort(); ++turn) {
    if (check::leaves_out(turn, 4, 8)) continue;
    const TemporaryDirectory first, second;
    const std::vector<std::string> folders{first.path(), second.path()};
    const Wanted wanted = random_parts(folders, random);
    Places places(wanted.parts);
    std::array<Connection, 3> connections;
    std::vector<Answer> answers;
    std::array<std::vector<FilePart>, 3> asked;
    for (std::size_t at = 0; at < 3; ++at) answers.push_back({connections[at].receiver(), {}});
    for (std::size_t part = 0; part < wanted.parts.size(); ++part) {
      const std::size_t at = random() % 3;
      answers[at].parts.push_back(part);
      asked[at].push_back(wanted.parts[part]);
    }
    std::vector<std::thread> senders;
    for (std::size_t at = 0; at < 3; ++at) {
      senders.emplace_back([&, at] { send_parts(connections[at].sender(), folders, asked[at], 60s); });
    }
    const auto whole = receive_parts(answers, places.spans, places.states, 60s);
    for (std::thread& sender : senders) sender.join();
    CHECK(whole == std::vector<bool>(3, true));
    for (std::size_t part = 0; part < wanted.parts.size(); ++part) {
      const bool is_here = places.states[part] == arrived;
      CHECK(is_here || (places.states[part] == missing && wanted.contents[part].empty()));
      if (is_here) CHECK(places.text(part) == wanted.contents[part]);
    }
  }
}

// Whatever a sender sends, no more parts arrive than it has sent bytes of, and the others' answers are whole.
TEST(nonsense_ends_an_answer) {
  std::mt19937_64 random(2);
  for (std::uint64_t turn = 0; turn < 200 * check::effort(); ++turn) {
    const std::vector<FilePart> parts(random() % 100 + 1, FilePart{"", 0, random() % 50});
    Places places(parts);
    const Connection connection;
    Answer answer{connection.receiver(), {}};
    for (std::size_t part = 0; part < parts.size(); ++part) answer.parts.push_back(part);
    std::string sent = content_of(random() % 2'000, random);
    if (turn % 2 == 0) std::ranges::for_each(sent, [](char& byte) { byte = byte % 2 == 0 ? 1 : 2; });
    CHECK(::send(connection.sender(), sent.data(), sent.size(), 0) == static_cast<ssize_t>(sent.size()));
    connection.cut();
    const std::vector<Answer> answers{answer};
    receive_parts(answers, places.spans, places.states, 60s);
    std::size_t bytes = 0;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      if (places.states[part] != 0) bytes += 1 + (places.states[part] == arrived ? parts[part].bytes : 0);
    }
    CHECK(bytes <= sent.size());
  }
}

TEST(who_is_silent_is_left) {
  const std::vector<FilePart> parts{{"", 0, 10}};
  Places places(parts);
  const Connection connection;
  const std::vector<Answer> answers{{connection.receiver(), {0}}};
  CHECK(receive_parts(answers, places.spans, places.states, 50ms) == std::vector<bool>{false});
  CHECK_EQUAL(int{places.states[0]}, 0);
}

TEST(who_takes_nothing_is_left) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "s-0") << std::string(8'000'000, 'x');
  const std::vector<std::string> folders{folder.path()};
  const std::vector<FilePart> parts{{"s-0", 0, 8'000'000}};
  const Connection connection;
  CHECK_THROWS(io, send_parts(connection.sender(), folders, parts, 50ms));
}

TEST(links_and_other_folders_are_not_sent) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "secret") << "0123456789";
  std::filesystem::create_symlink(folder / "secret", folder / "link");
  std::filesystem::create_directory(folder / "inner");
  const std::vector<std::string> folders{folder / "inner", folder.path()};
  const std::vector<FilePart> parts{
      {"link", 0, 5}, {"../secret", 0, 5}, {"", 0, 0}, {".", 0, 0}, {"secret", 0, 5}};
  Places places(parts);
  const Connection connection;
  send_parts(connection.sender(), folders, parts, 60s);
  const std::vector<Answer> answers{{connection.receiver(), {0, 1, 2, 3, 4}}};
  CHECK(receive_parts(answers, places.spans, places.states, 60s) == std::vector<bool>{true});
  CHECK(places.states == (std::vector<std::uint8_t>{missing, missing, missing, missing, arrived}));
}

}  // namespace
}  // namespace sortcore
