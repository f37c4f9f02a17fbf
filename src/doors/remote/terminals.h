// SPDX-License-Identifier: Apache-2.0
// Terminals: programs with a terminal in sessions, each shown to one connection at a time.
//
// One whose connection is lost goes on without anybody who looks, for some minutes: the next
// connection attaches to it, and gets what it has printed last. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "cloche/live_run.h"
#include "doors/http/web_socket.h"
#include "session/session_manager.h"
#include "session/worker_pool.h"

namespace cloche::remote {

class Terminals;

class Terminal : public std::enable_shared_from_this<Terminal> {
 public:
  using Clock = std::chrono::steady_clock;

  Terminal(std::uint32_t number, std::string owner, std::shared_ptr<session::Session> session,
           session::Session::Use sandbox, Terminals& all);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  std::uint32_t number() const noexcept { return number_; }
  const std::string& owner() const noexcept { return owner_; }
  const std::shared_ptr<session::Session>& session() const noexcept { return session_; }

  void start(LiveRunOptions options);
  void resize(const TerminalSize& size);
  // What was typed. False: it comes faster than it is read.
  bool type(std::string_view bytes);
  // From now on it is shown there, beginning with what it has printed last. What it prints then
  // waits while its client has not said of `window_bytes` that it has taken them (0: no such wait),
  // but for some seconds at most: a client that says nothing for so long has no window any more.
  void show(std::shared_ptr<http::WebSocket> socket, std::size_t window_bytes);
  // Who is shown it has taken so many bytes more.
  void taken(const http::WebSocket* socket, std::size_t bytes);
  // Not shown there any more, where it was.
  void hide(const http::WebSocket* socket);
  // Nobody has looked at it since then; max: somebody does.
  Clock::time_point hidden_since() const;

 private:
  friend class Terminals;
  void print(std::string_view bytes);
  void wait_until_taken(const http::WebSocket* socket);
  void tell_end(const RunResult& result);
  void pass_on_typed() REQUIRES(input_mutex_);
  std::string frame(std::string_view bytes) const;

  const std::uint32_t number_;
  const std::string owner_;
  const std::shared_ptr<session::Session> session_;
  session::Session::Use sandbox_;
  Terminals& all_;

  mutable Mutex mutex_;
  std::shared_ptr<http::WebSocket> socket_ GUARDED_BY(mutex_);
  Clock::time_point hidden_since_ GUARDED_BY(mutex_) = Clock::now();
  std::string recent_ GUARDED_BY(mutex_);
  Condition taken_;  // or there is nothing to wait for
  std::size_t window_bytes_ GUARDED_BY(mutex_) = 0;
  std::size_t untaken_bytes_ GUARDED_BY(mutex_) = 0;
  bool closing_ GUARDED_BY(mutex_) = false;

  Mutex input_mutex_;
  std::string typed_ GUARDED_BY(input_mutex_);  // and not taken by the terminal yet
  std::optional<TerminalSize> size_
      GUARDED_BY(input_mutex_);  // that was asked for since it was opened

  std::unique_ptr<LiveRun> live_;  // goes first: its callbacks use the rest
};

class Terminals {
 public:
  // Both outlive it.
  Terminals(session::SessionManager& sessions, session::WorkerPool& workers)
      : sessions_(sessions), workers_(workers) {}

  // Throws RpcError: too many.
  // It has yet to be started.
  std::shared_ptr<Terminal> open(std::string owner, std::shared_ptr<session::Session> session,
                                 session::Session::Use sandbox,
                                 std::shared_ptr<http::WebSocket> socket, std::size_t window_bytes);
  // Null when the owner has none of that number.
  std::shared_ptr<Terminal> find(std::uint32_t number, std::string_view owner) const;
  // Hangs up.
  void close(std::uint32_t number);
  // Its program has ended: what that has done is saved before it is told.
  void end(std::uint32_t number, const RunResult& result);
  // Something was typed into one.
  void note_typing(const Terminal& terminal) const { sessions_.save_soon(terminal.session()); }
  // A connection has ended.
  void hide_all(const http::WebSocket* socket);
  // Ends those that nobody has looked at for long.
  void drop_forgotten();
  // All; nothing more is opened.
  void stop();

 private:
  std::shared_ptr<Terminal> take_out(std::uint32_t number);

  session::SessionManager& sessions_;
  session::WorkerPool& workers_;
  mutable Mutex mutex_;
  std::map<std::uint32_t, std::shared_ptr<Terminal>> terminals_ GUARDED_BY(mutex_);
  std::uint32_t last_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace cloche::remote
