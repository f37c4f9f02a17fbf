// SPDX-License-Identifier: Apache-2.0
// Connection: one SSH connection, from the key exchange to its end, on the thread that calls run().
#pragma once

#include <libssh/callbacks.h>
#include <libssh/libssh.h>
#include <libssh/server.h>

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "doors/http/log.h"
#include "doors/http/metrics.h"
#include "doors/http/received_bytes.h"
#include "doors/http/token_store.h"
#include "doors/ssh/channel.h"
#include "doors/ssh/elsewhere.h"
#include "doors/ssh/far_session.h"
#include "doors/ssh/open_folders.h"
#include "doors/ssh/relayed_channel.h"
#include "doors/ssh/wake.h"
#include "session/session_manager.h"

namespace cloche::ssh {

class Connection {
 public:
  struct Parts {
    session::SessionManager& sessions;
    http::Log& log;
    http::Metrics& metrics;
    const http::TokenStore& tokens;
    const std::string& password;
    OpenFolders& folders;                       // of all connections
    std::shared_ptr<http::ReceivedBytes> held;  // by all of them, of the clients' and for them
    Elsewhere* elsewhere;                       // null: all sessions are here
    // Told when somebody has logged in to a session, and whose it is, where that is known here;
    // false: that one has as many connections as one may have.
    std::function<bool(const std::string& session_id, const std::string& owner)> chosen;
    // Told once the login has ended, and of the session that was wanted last and whose it is, as
    // far as that is known here; empty: there is none.
    std::function<void(bool is_good, const std::string& session_id, const std::string& owner)>
        tried;
    // Told when the number of channels has changed, and asked now and then where the client has
    // gone; false: the connection must end.
    std::function<bool(std::size_t channels)> stays;
  };
  // Where a tunnel leads to.
  struct Target {
    std::shared_ptr<session::Session> session;  // null: there is none, the user's name says it
    std::optional<Forwarded> forwarded = {};    // the login has been elsewhere
  };
  // `handle` has been accepted on a copy of `socket`; both stay the caller's.
  Connection(Parts parts, ssh_session handle, int socket, Target target);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void run();

 private:
  bool log_in(ssh_event event);
  void serve(ssh_event event);
  bool pump_channels();
  bool misused(std::uint64_t unread);
  void linger();
  bool poll_once(ssh_event event, bool moved);
  bool choose_session(const char* user);
  void note_packet();
  bool came_whole(std::string_view user, std::string_view password) const;
  int check_nothing(const char* user);
  int check_password(const char* user, const char* password);
  int check_key(const char* user, ssh_key key, char state);
  enum class Stage : std::uint8_t { asked, shown };
  int try_proof(const Proof& proof, Stage stage);
  bool opens_elsewhere(const Proof& proof, Stage stage);
  void tell(const char* sentence);
  ssh_channel open_session_channel();
  int open_forward(ssh_message message);
  ssh_channel open_relayed(RelayedChannel::Kind kind,
                           const std::function<int(ssh_channel far)>& open);
  std::string client_name() const;
  bool is_closed() const;
  bool has_ended();
  std::string why_ended() const;
  bool has_room(bool for_forward) const;
  std::string owner() const;
  std::uint64_t unread_bytes();

  Parts parts_;
  ssh_session handle_;
  const int socket_;
  const bool by_tunnel_;
  const std::optional<Forwarded> forwarded_;
  std::shared_ptr<session::Session> session_;
  std::string session_id_;                  // of it, or of one elsewhere
  std::unique_ptr<FarSession> far_;         // of one elsewhere, once somebody has logged in
  std::string far_owner_;                   // and whose that is
  std::optional<http::ReceivedBody> held_;  // once somebody has logged in
  Wake wake_;
  bool authenticated_ = false;
  const char* told_ = nullptr;  // of a login that fails, last
  int failures_ = 0;
  ssh_server_callbacks_struct callbacks_{};
  ssh_counter_struct socket_bytes_{};
  ssh_counter_struct packets_{};
  ssh_counter_struct noted_{};  // packets_ when a request of the login was last looked at
  struct {
    std::uint64_t said = 0;
    std::uint64_t sent = 0;
  } all_sent_;  // when nothing was left to send
  std::list<std::unique_ptr<Channel>> channels_;
};

}  // namespace cloche::ssh
