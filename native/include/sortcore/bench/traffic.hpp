// Records sent over connected sockets at full speed, and discarded on arrival: one node's part in NetBench
// (Conley, Vahdat, Porter, SoCC 2015, section 4.3.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sortcore/progress.hpp"

namespace sortcore {

struct TrafficRequest {
  std::vector<int> send_sockets;
  std::vector<int> receive_sockets;
  double seconds = 10;
  double warm_up_s = 1;    // not counted: windows open, buffers and token buckets fill
  double cool_down_s = 1;  // not counted: slower clocks still measure
  double interval_s = 1;
  double stall_s = 10;  // a connection without any transfer for this long has failed
};

struct TrafficReport {
  std::vector<std::uint64_t> sent_bytes;      // per socket, in the order of the request
  std::vector<std::uint64_t> received_bytes;  // likewise
  std::vector<std::uint64_t> sent_by_interval;
  std::vector<std::uint64_t> received_by_interval;
  // Set if a connection ended the run early.
  bool is_broken = false;
  bool broken_was_sending = false;
  std::size_t broken_index = 0;
  double broken_after_s = 0;
  std::string broken_reason;
};

// Sockets become non-blocking and remain the caller's to close; no SIGPIPE is raised. One progress phase, in
// milliseconds. Throws Error(cancelled).
TrafficReport exchange_traffic(const TrafficRequest& request, Progress* progress);

}  // namespace sortcore
