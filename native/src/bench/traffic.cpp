#include "sortcore/bench/traffic.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>

#include "bench/bench_file.hpp"
#include "bench/watch.hpp"
#include "sortcore/bench/window.hpp"
#include "sortcore/buffer.hpp"
#include "sortcore/error.hpp"
#include "sortcore/io/monitor.hpp"
#include "sortcore/threads.hpp"

namespace sortcore {
namespace {

constexpr std::size_t payload_bytes = 4'096'000;
constexpr std::size_t transfer_bytes = 256 * 1024;  // at most, before the next connection has its turn
constexpr int poll_ms = 50;

#ifdef MSG_NOSIGNAL
constexpr int send_flags = MSG_NOSIGNAL;
#else
constexpr int send_flags = 0;
#endif

struct Connection {
  Connection(int descriptor, bool sending, std::size_t position, const Window& window)
      : socket(descriptor), sends(sending), index(position), meter(window) {}

  int socket;
  bool sends;
  std::size_t index;
  Meter meter;
  std::size_t source_offset = 0;
  double last_moved_s = 0;
  bool is_finished = false;
};

class Traffic {
 public:
  Traffic(const TrafficRequest& request, Progress* progress)
      : request_(request),
        progress_(progress),
        window_(request.warm_up_s, request.seconds, request.interval_s),
        monitor_(progress),
        source_(payload_bytes) {
    fill_with_records(source_.data(), payload_bytes, 0);
    add(request.send_sockets, true);
    add(request.receive_sockets, false);
  }

  TrafficReport run();

 private:
  void add(const std::vector<int>& sockets, bool sending);
  void serve(std::vector<Connection*> mine);
  void move(Connection& connection, std::byte* sink);
  ssize_t send_some(Connection& connection);
  void finish_sending(std::vector<Connection*>& mine);
  void check_stalled(const Connection& connection);
  void report_broken(const Connection& connection, const std::string& reason);
  bool is_time_to_stop() const { return window_.now() >= window_.seconds() + request_.cool_down_s; }
  // Peers that never close their end must not delay this one.
  bool is_long_over() const { return window_.now() >= window_.seconds() + 2 * request_.cool_down_s + 1; }

  const TrafficRequest& request_;
  Progress* progress_;
  Window window_;
  Monitor monitor_;
  Buffer source_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::atomic<bool> broken_{false};
  std::mutex report_mutex_;
  TrafficReport report_;
};

void Traffic::add(const std::vector<int>& sockets, bool sending) {
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    const int flags = ::fcntl(sockets[i], F_GETFL);
    if (flags < 0 || ::fcntl(sockets[i], F_SETFL, flags | O_NONBLOCK) != 0) {
      throw Error(ErrorCode::bad_input, std::string("not a usable socket: ") + std::strerror(errno));
    }
    connections_.push_back(std::make_unique<Connection>(sockets[i], sending, i, window_));
  }
}

TrafficReport Traffic::run() {
  const std::size_t threads = std::clamp<std::size_t>(connections_.size(), 1, available_threads());
  std::vector<std::vector<Connection*>> shares(threads);
  for (std::size_t i = 0; i < connections_.size(); ++i) shares[i % threads].push_back(connections_[i].get());
  ThreadGroup group(monitor_);
  window_.start();
  for (const auto& share : shares) group.start(1, [&, share] { serve(share); });
  group.start(1, [&] { watch(window_, monitor_, progress_, 0); });
  group.join();
  report_.sent_by_interval.resize(window_.intervals());
  report_.received_by_interval.resize(window_.intervals());
  for (const auto& connection : connections_) {
    auto& by_interval = connection->sends ? report_.sent_by_interval : report_.received_by_interval;
    const auto course = connection->meter.bytes_by_interval();
    for (std::size_t i = 0; i < course.size(); ++i) by_interval[i] += course[i];
    (connection->sends ? report_.sent_bytes : report_.received_bytes).push_back(connection->meter.bytes());
  }
  return report_;
}

void Traffic::serve(std::vector<Connection*> mine) {
  Buffer sink(transfer_bytes);
  for (Connection* connection : mine) connection->last_moved_s = window_.now();
  std::vector<pollfd> polled;
  while (!mine.empty() && !broken_ && !is_long_over()) {
    monitor_.check();
    finish_sending(mine);
    polled.clear();
    for (const Connection* connection : mine) {
      polled.push_back({connection->socket, static_cast<short>(connection->sends ? POLLOUT : POLLIN), 0});
    }
    const int ready = ::poll(polled.data(), static_cast<nfds_t>(polled.size()), poll_ms);
    if (ready < 0 && errno != EINTR) throw Error::from_errno("wait for", "sockets", errno);
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (ready > 0 && polled[i].revents != 0) move(*mine[i], sink.data());
      check_stalled(*mine[i]);
    }
    std::erase_if(mine, [](const Connection* connection) { return connection->is_finished; });
  }
}

// The end of the stream notifies the peer that nothing more comes.
void Traffic::finish_sending(std::vector<Connection*>& mine) {
  if (!is_time_to_stop()) return;
  for (Connection* connection : mine) {
    if (!connection->sends) continue;
    ::shutdown(connection->socket, SHUT_WR);
    connection->is_finished = true;
  }
  std::erase_if(mine, [](const Connection* connection) { return connection->is_finished; });
}

ssize_t Traffic::send_some(Connection& connection) {
  const std::size_t left = payload_bytes - connection.source_offset;
  const ssize_t sent = ::send(connection.socket, source_.data() + connection.source_offset,
                              std::min(left, transfer_bytes), send_flags);
  if (sent > 0)
    connection.source_offset = (connection.source_offset + static_cast<std::size_t>(sent)) % payload_bytes;
  return sent;
}

void Traffic::move(Connection& connection, std::byte* sink) {
  const ssize_t moved =
      connection.sends ? send_some(connection) : ::recv(connection.socket, sink, transfer_bytes, 0);
  if (moved > 0) {
    connection.meter.add(static_cast<std::uint64_t>(moved));
    connection.last_moved_s = window_.now();
    return;
  }
  if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
  const std::string reason = moved == 0 ? "the other side closed the connection" : std::strerror(errno);
  connection.is_finished = true;
  if (window_.now() < window_.seconds()) report_broken(connection, reason);
}

void Traffic::check_stalled(const Connection& connection) {
  if (window_.is_over() || window_.now() - connection.last_moved_s < request_.stall_s) return;
  report_broken(connection, "nothing moved for " + std::to_string(request_.stall_s) + " s");
}

void Traffic::report_broken(const Connection& connection, const std::string& reason) {
  const std::lock_guard lock(report_mutex_);
  if (broken_.exchange(true)) return;
  report_.is_broken = true;
  report_.broken_was_sending = connection.sends;
  report_.broken_index = connection.index;
  report_.broken_after_s = window_.now() + window_.warm_up_s();
  report_.broken_reason = reason;
  window_.stop();
}

}  // namespace

TrafficReport exchange_traffic(const TrafficRequest& request, Progress* progress) {
  if (!(request.seconds > 0) || !(request.interval_s > 0) || !(request.warm_up_s >= 0) ||
      !(request.stall_s > 0) || !(request.cool_down_s >= 0)) {
    throw Error(ErrorCode::bad_input, "the times of an exchange must be positive");
  }
  return Traffic(request, progress).run();
}

}  // namespace sortcore
