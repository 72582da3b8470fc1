// The exchange of parts of files between nodes, over sockets that do not block.
//
// A sender answers a request group by group: a byte for each part of the group, which says whether it is
// there, then the parts that are, one after another.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sortcore {

// Most parts of a group: a sender holds as many files open.
inline constexpr std::size_t parts_at_once = 64;

enum class PartState : std::uint8_t { expected = 0, arrived = 1, missing = 2 };

// A range of the file of that name in the first of some folders that has one.
struct FilePart {
  std::string name;
  std::uint64_t offset;
  std::uint64_t bytes;
};

// Sends parts of files to a socket. Names must have no separators; links are not followed, and a part that
// goes beyond the end of its file counts as missing. Throws Error (io) when the connection is lost, or
// nothing could be sent for `longest_silence`, and when a file becomes too short meanwhile.
void send_parts(int socket, std::span<const std::string> folders, std::span<const FilePart> parts,
                std::chrono::milliseconds longest_silence);

// A connection, and the numbers of the parts requested from it, in this order.
struct Answer {
  int socket;
  std::vector<std::size_t> parts;
};

// Receives the answers of several senders at the same time, each part in its place, and notes in `states`
// what becomes of each; another thread may read them. Returns whether each answer came whole: one ends early
// when its connection is lost or sends nothing for `longest_silence`.
std::vector<bool> receive_parts(std::span<const Answer> answers, std::span<const std::span<std::byte>> places,
                                std::span<std::uint8_t> states, std::chrono::milliseconds longest_silence);

}  // namespace sortcore
