// SPDX-License-Identifier: Apache-2.0
#include "doors/ssh/far_session.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "doors/http/lost_peer.h"

namespace cloche::ssh {
namespace {

constexpr std::chrono::seconds far_exchange_patience{15};
constexpr std::chrono::seconds far_request_patience{30};
constexpr int fd_max = 0xffff;  // that libssh takes

struct FreeSession {
  void operator()(ssh_session session) const {
    ::ssh_disconnect(session);
    ::ssh_free(session);
  }
};
using SessionPtr = std::unique_ptr<ssh_session_struct, FreeSession>;

// Nothing of this user's own files: it is a cell that asks.
bool set_options(ssh_session session, int fd) {
  const bool no_config = false;
  const long patience_s = far_exchange_patience.count();
  const auto set = [session](ssh_options_e option, const void* value) {
    return ::ssh_options_set(session, option, value) == SSH_OK;
  };
  return set(SSH_OPTIONS_PROCESS_CONFIG, &no_config) && set(SSH_OPTIONS_SSH_DIR, "/nowhere") &&
         set(SSH_OPTIONS_KNOWNHOSTS, "/dev/null") &&
         set(SSH_OPTIONS_GLOBAL_KNOWNHOSTS, "/dev/null") && set(SSH_OPTIONS_HOST, "cell") &&
         set(SSH_OPTIONS_USER, "sandbox") && set(SSH_OPTIONS_TIMEOUT, &patience_s) &&
         set(SSH_OPTIONS_COMPRESSION_C_S, "none") && set(SSH_OPTIONS_COMPRESSION_S_C, "none") &&
         set(SSH_OPTIONS_FD, &fd);
}

}  // namespace

// Whose host key it is need not be asked: the tunnel is one to a cell that is known.
std::unique_ptr<FarSession> FarSession::open(UniqueFd tunnel, int near) {
  SessionPtr session(::ssh_new());
  if (!session) return nullptr;
  const int fd = tunnel.get();
  http::notice_lost_peer(fd);
  if (fd > fd_max || !set_options(session.get(), fd)) return nullptr;
  (void)tunnel.release();
  const bool is_connected = ::ssh_connect(session.get()) == SSH_OK;
  // libssh leaves open what it was given so, unless there was an error: from here on it is its own.
  const int none = -1;
  (void)::ssh_options_set(session.get(), SSH_OPTIONS_FD, &none);
  if (!is_connected || ::ssh_userauth_none(session.get(), nullptr) != SSH_AUTH_SUCCESS)
    return nullptr;
  ::ssh_set_blocking(session.get(), 0);
  ssh_event event = ::ssh_event_new();
  if (!event) return nullptr;
  if (::ssh_event_add_session(event, session.get()) != SSH_OK) {
    ::ssh_event_free(event);
    return nullptr;
  }
  return std::unique_ptr<FarSession>(new FarSession(session.release(), event, fd, near));
}

FarSession::~FarSession() {
  ::ssh_set_counters(handle_, nullptr, nullptr);
  ::ssh_event_remove_session(event_, handle_);
  ::ssh_event_free(event_);
  const SessionPtr freed(handle_);
}

short FarSession::wanted_events() const {
  const bool has_more = (::ssh_get_status(handle_) & SSH_WRITE_PENDING) != 0;
  return static_cast<short>(POLLIN | (has_more ? POLLOUT : 0));
}

void FarSession::turn() {
  if (!is_over()) ::ssh_event_dopoll(event_, 0);
}

bool FarSession::is_over() const {
  return ::ssh_is_connected(handle_) == 0 ||
         (::ssh_get_status(handle_) & (SSH_CLOSED | SSH_CLOSED_ERROR)) != 0;
}

// False: there is nothing to wait for any more.
bool FarSession::wait(std::chrono::steady_clock::time_point deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  if (left.count() <= 0 || is_over()) return false;
  // Of the client only whether it has gone: what it says comes later.
  std::array<pollfd, 2> wanted{pollfd{fd_, wanted_events(), 0}, pollfd{near_, 0, 0}};
  if (::poll(wanted.data(), wanted.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
    return false;
  if (wanted[1].revents != 0) return false;
  turn();
  return true;
}

bool FarSession::done(const std::function<int()>& act) {
  const auto deadline = std::chrono::steady_clock::now() + far_request_patience;
  for (;;) {
    const int result = act();
    if (result != SSH_AGAIN) return result == SSH_OK;
    if (!wait(deadline)) return false;
  }
}

}  // namespace cloche::ssh
