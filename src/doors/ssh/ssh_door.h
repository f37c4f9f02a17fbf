// SPDX-License-Identifier: Apache-2.0
// SshDoor: SSH and SFTP to sessions, in this process, on libssh.
//
// A connection has one thread while it lasts; nothing else costs. Those that have not logged in are
// few: where one more comes than there may be, the one of them leaves that has taken longest, of
// the peer that has the most. So half-open connections shut nobody out. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/mutex.h"
#include "base/thread_group.h"
#include "base/unique_fd.h"
#include "doors/http/log.h"
#include "doors/http/metrics.h"
#include "doors/http/received_bytes.h"
#include "doors/http/token_store.h"
#include "doors/ssh/elsewhere.h"
#include "doors/ssh/open_folders.h"
#include "session/session_manager.h"

struct ssh_bind_struct;

namespace cloche::ssh {

struct SshOptions {
  std::string host_key;                 // as prepare_host_key takes it
  std::string password;                 // opens every session; empty: none
  std::size_t most_connections = 1024;  // one owner's three quarters of it
  // Of clients and for them, in memory; one owner's half of it.
  std::uint64_t held_limit_bytes = 1ULL << 30;
};

// The file with the host key: `file`, or the usual one where that is empty. It is made when it is
// not there. Throws HostError when there is no key, and none can be made.
std::string prepare_host_key(const std::string& file);

// Somebody logged in, or went away without it.
struct Login {
  std::string session_id = {};  // where one was named that there is
  std::string owner = {};       // of that session
  std::string peer = {};        // ADDRESS:PORT; empty by a tunnel
  bool is_good = false;
};

class SshDoor {
 public:
  // All of them outlive it.
  struct Parts {
    session::SessionManager& sessions;
    http::Log& log;
    http::Metrics& metrics;
    const http::TokenStore& tokens;
    std::function<void(const Login& login)> login = {};  // told of each, on any thread
  };
  // Throws HostError when there is no host key, and none can be made.
  SshDoor(Parts parts, const SshOptions& options);
  ~SshDoor();  // stop()
  SshDoor(const SshDoor&) = delete;
  SshDoor& operator=(const SshDoor&) = delete;

  // Serves SSH on a connected stream socket. `session` is the one that a tunnel led to; null: the
  // user name says it, sandbox+ID. Does not wait. `peer` is whom it counts for until somebody has
  // logged in; `forwarded`: that has been elsewhere.
  void serve(UniqueFd fd, std::shared_ptr<session::Session> session, std::string peer,
             std::optional<Forwarded> forwarded = {});
  // Another door: SSH without a tunnel. `elsewhere` is asked for sessions that are not here, until
  // stop(); null: nobody. Throws HostError.
  void listen(const std::string& host, std::uint16_t port, Elsewhere* elsewhere = nullptr);
  // Where it listens: the one that it was given, or that the machine has chosen for 0.
  std::uint16_t port() const noexcept { return port_; }

  // Whether that opens the session.
  bool opens(const session::Session& session, const Proof& proof) const;

  // Ends the connections to a session that is no more.
  void drop(const std::string& session_id);
  bool has_room() const;
  std::size_t connections() const;
  // Takes no more connections, ends those in which nothing runs, and the others once that is so.
  void end_idle();
  // Whether there is none any more; waits for that as long as `patience`.
  bool wait_until_empty(std::chrono::milliseconds patience);
  // Ends all connections and takes no more.
  void stop();

 private:
  void accept_all();
  void stop_listening();
  bool stays(int fd, std::size_t channels);
  bool has_chosen(int fd, const std::string& session_id, const std::string& owner);
  bool make_room() REQUIRES(mutex_);
  void run(int fd, std::shared_ptr<session::Session> session, std::optional<Forwarded> forwarded);

  Parts parts_;
  const std::string password_;
  const std::size_t most_connections_;
  const std::shared_ptr<OpenFolders> folders_ = std::make_shared<OpenFolders>();
  const std::shared_ptr<http::ReceivedBytes> held_;
  Mutex bind_mutex_;
  ssh_bind_struct* bind_ GUARDED_BY(bind_mutex_) = nullptr;
  mutable Mutex mutex_;
  Condition ended_;
  struct Caller {
    std::string session_id;  // once it is known
    std::string owner = {};  // of it; empty: nobody
    std::string peer;
    std::uint64_t number = 0;  // in the order in which they came
    std::size_t channels = 0;
    bool logged_in = false;
    bool leaving = false;
  };
  std::map<int, Caller> sockets_ GUARDED_BY(mutex_);  // of the open connections
  std::uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool ending_idle_ GUARDED_BY(mutex_) = false;

  Elsewhere* elsewhere_ = nullptr;  // set before there is a connection that asks it
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  UniqueFd stop_listening_;
  std::thread acceptor_;
  ThreadGroup threads_;  // one for each connection
};

}  // namespace cloche::ssh
