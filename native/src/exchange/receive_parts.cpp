#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "sortcore/exchange/parts.hpp"

namespace sortcore {
namespace {

using Clock = std::chrono::steady_clock;

// Over a slow link a thread that woke for each packet would take longer than the link itself.
constexpr std::size_t worth_waking_bytes = 256U << 10;

enum class Step { waits, ended, lost };

// The answer of one connection as far as it has come.
class Receiver {
 public:
  Receiver(const Answer& answer, std::span<const std::span<std::byte>> places, std::span<std::uint8_t> states)
      : answer_(answer), places_(places), states_(states), heard_at_(Clock::now()) {
    begin_group();
  }

  int socket() const noexcept { return answer_.socket; }
  Clock::time_point heard_at() const noexcept { return heard_at_; }

  // Takes what has come.
  Step advance() {
    while (group_ < answer_.parts.size()) {
      const ssize_t count = receive();
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return wait_for_more();
      if (count <= 0) return Step::lost;
      heard_at_ = Clock::now();
      if (!take(static_cast<std::size_t>(count))) return Step::lost;
    }
    wake_at(1);  // the connection is kept, and the next to use it expects a few bytes
    return Step::ended;
  }

 private:
  std::size_t size() const noexcept { return std::min(parts_at_once, answer_.parts.size() - group_); }

  void begin_group() {
    heads_ = 0;
    at_ = 0;
    filled_ = 0;
    left_ = 0;
  }

  ssize_t receive() {
    if (heads_ < size()) return ::recv(answer_.socket, &head_[heads_], size() - heads_, MSG_DONTWAIT);
    std::array<iovec, parts_at_once> pieces;
    std::size_t count = 0;
    for (std::size_t at = at_; at < size(); ++at) {
      if (!is_here(at)) continue;
      const auto rest = place(at).subspan(at == at_ ? filled_ : 0);
      if (!rest.empty()) pieces[count++] = {.iov_base = rest.data(), .iov_len = rest.size()};
    }
    msghdr message{};
    message.msg_iov = pieces.data();
    message.msg_iovlen = count;
    return ::recvmsg(answer_.socket, &message, MSG_DONTWAIT);
  }

  // Takes bytes of the heads, or of the parts; returns whether they are as they should be.
  bool take(std::size_t count) {
    if (heads_ < size()) {
      heads_ += count;
      if (heads_ < size()) return true;
      for (std::size_t at = 0; at < size(); ++at) {
        if (head_[at] != static_cast<std::uint8_t>(PartState::arrived) &&
            head_[at] != static_cast<std::uint8_t>(PartState::missing)) {
          return false;
        }
        left_ += is_here(at) ? place(at).size() : 0;
      }
    } else {
      left_ -= count;
      filled_ += count;
    }
    pass_whole_parts();
    return true;
  }

  // Notes the parts that are whole or missing, and begins the next group after the last.
  void pass_whole_parts() {
    for (; at_ < size(); ++at_) {
      if (is_here(at_)) {
        if (filled_ < place(at_).size()) return;
        filled_ -= place(at_).size();
      }
      std::atomic_ref<std::uint8_t>(states_[answer_.parts[group_ + at_]])
          .store(head_[at_], std::memory_order_release);
    }
    group_ += size();
    if (group_ < answer_.parts.size()) begin_group();
  }

  Step wait_for_more() {
    wake_at(heads_ < size() ? 1 : std::min(left_, worth_waking_bytes));
    return Step::waits;
  }

  void wake_at(std::size_t bytes) {
    if (bytes == wakes_at_) return;
    const int least = static_cast<int>(bytes);
    ::setsockopt(answer_.socket, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    wakes_at_ = bytes;
  }

  bool is_here(std::size_t at) const noexcept {
    return head_[at] == static_cast<std::uint8_t>(PartState::arrived);
  }
  std::span<std::byte> place(std::size_t at) const { return places_[answer_.parts[group_ + at]]; }

  const Answer& answer_;
  std::span<const std::span<std::byte>> places_;
  std::span<std::uint8_t> states_;
  Clock::time_point heard_at_;
  std::array<std::uint8_t, parts_at_once> head_{};
  std::size_t group_ = 0;   // the first part of the group
  std::size_t heads_ = 0;   // bytes of the group's heads that have come
  std::size_t at_ = 0;      // the part of the group that is filled
  std::size_t filled_ = 0;  // its bytes that have come
  std::size_t left_ = 0;    // bytes of the group that have not
  std::size_t wakes_at_ = 1;
};

int milliseconds_until(Clock::time_point end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
  return static_cast<int>(std::max<std::int64_t>(left.count(), 0));
}

}  // namespace

std::vector<bool> receive_parts(std::span<const Answer> answers, std::span<const std::span<std::byte>> places,
                                std::span<std::uint8_t> states, std::chrono::milliseconds longest_silence) {
  std::vector<Receiver> receivers;
  receivers.reserve(answers.size());
  std::vector<std::size_t> numbers;  // of the answers that have not ended
  for (const Answer& answer : answers) {
    receivers.emplace_back(answer, places, states);
    numbers.push_back(numbers.size());
  }
  std::vector<bool> is_whole(answers.size(), false);
  std::vector<pollfd> waited;
  while (!numbers.empty()) {
    std::erase_if(numbers, [&](std::size_t number) {
      const Step step = receivers[number].advance();
      is_whole[number] = step == Step::ended;
      return step != Step::waits || Clock::now() - receivers[number].heard_at() > longest_silence;
    });
    waited.clear();
    Clock::time_point first_silent = Clock::now() + longest_silence;
    for (const std::size_t number : numbers) {
      waited.push_back({.fd = receivers[number].socket(), .events = POLLIN, .revents = 0});
      first_silent = std::min(first_silent, receivers[number].heard_at() + longest_silence);
    }
    if (!waited.empty()) ::poll(waited.data(), waited.size(), milliseconds_until(first_silent) + 1);
  }
  return is_whole;
}

}  // namespace sortcore
