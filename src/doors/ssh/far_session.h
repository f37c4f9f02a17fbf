// SPDX-License-Identifier: Apache-2.0
// FarSession: the SSH of a session that another cell has, as its client.
//
// SSH is encrypted from end to end, and who is wanted is said inside: the cell that a client has
// connected to must be its server. So a connection to another cell's session ends here, and goes on
// as one of this cell's, by a tunnel: what the client asks for of its channels is asked of these
// (RelayedChannel). Nothing of the client's keys is needed for that: the tunnel is for who has
// shown that he may log in, and that is shown here (Elsewhere).
//
// Threads: that of the connection. What the other cell is asked is waited for, for some seconds and
// not longer than the client is there.
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/unique_fd.h"

namespace cloche::ssh {

class FarSession {
 public:
  // Takes a tunnel that wants no login. `near` is the client's socket. Null: there is no SSH behind
  // it. Waits.
  static std::unique_ptr<FarSession> open(UniqueFd tunnel, int near);
  ~FarSession();
  FarSession(const FarSession&) = delete;
  FarSession& operator=(const FarSession&) = delete;

  ssh_session handle() const noexcept { return handle_; }
  int fd() const noexcept { return fd_; }
  // What to poll its descriptor for.
  short wanted_events() const;
  // Takes what has come, without waiting.
  void turn();
  bool is_over() const;
  // How many packets have come: whoever looks at one channel may take what is another's.
  std::uint64_t packets() const noexcept { return packets_.in_packets; }

  // Does what libssh does in steps until it is done. False: it is refused, or takes too long.
  bool done(const std::function<int()>& act);

 private:
  FarSession(ssh_session handle, ssh_event event, int fd, int near)
      : handle_(handle), event_(event), fd_(fd), near_(near) {
    ::ssh_set_counters(handle_, nullptr, &packets_);
  }
  bool wait(std::chrono::steady_clock::time_point deadline);

  const ssh_session handle_;
  const ssh_event event_;
  const int fd_;
  const int near_;
  ssh_counter_struct packets_{};
};

}  // namespace cloche::ssh
