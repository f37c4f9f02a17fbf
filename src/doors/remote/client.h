// SPDX-License-Identifier: Apache-2.0
// Client: one WebSocket of the door: its requests, its terminals, and what it is told of.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "doors/http/web_socket.h"
#include "doors/remote/parts.h"
#include "doors/remote/session_subject.h"
#include "doors/rpc/connection.h"
#include "doors/rpc/sink.h"
#include "session/event_log.h"

namespace cloche::remote {

class Client final : public http::WebSocketUser, private rpc::Sink {
 public:
  // What it uses outlives it.
  struct Uses {
    const Parts& parts;
    Terminals& terminals;
    Ticker& ticker;
  };
  Client(const Uses& uses, std::string owner);
  ~Client() override;

  // What methods use.
  Terminals& terminals() noexcept { return uses_.terminals; }
  const std::shared_ptr<http::WebSocket>& socket() const noexcept { return socket_; }
  // Instead of what it was told of before. Empty session: of all.
  void tell_events(std::string session_id, std::uint64_t since);
  void tell_stats(std::chrono::milliseconds interval);

 private:
  void opened(std::shared_ptr<http::WebSocket> socket) override;
  void received(http::WebSocket::Frame frame, std::string message) override;
  void closed() override;

  void send(Kind kind, std::string message) noexcept override;
  void send_last(std::string message) noexcept override;

  void finish();
  void take_typed(std::string_view frame);
  void send_stats();

  const Uses uses_;
  const std::string owner_;
  std::shared_ptr<http::WebSocket> socket_;  // null until it is opened

  SessionBackend backend_;
  std::optional<rpc::Connection> connection_;

  Mutex watch_mutex_;
  session::EventLog::Subscription events_ GUARDED_BY(watch_mutex_);
  std::uint64_t stats_ GUARDED_BY(watch_mutex_) = 0;  // of the ticker; 0: none
  std::uint64_t last_requests_ GUARDED_BY(watch_mutex_) = 0;
  std::chrono::steady_clock::time_point last_stats_ GUARDED_BY(watch_mutex_);
};

}  // namespace cloche::remote
