// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/client.h"

#include <fmt/format.h>

#include <utility>

#include "doors/http/date.h"
#include "doors/remote/server_usage.h"
#include "doors/remote/terminals.h"
#include "doors/remote/ticker.h"

namespace cloche::remote {
namespace {

using Frame = http::WebSocket::Frame;
using SocketKind = http::WebSocket::Kind;

constexpr std::size_t stats_sessions_max = 1000;

std::string event_message(const session::LoggedEvent& event) {
  rpc::Reply params{{"seq", event.number},
                    {"time", http::iso_timestamp(event.time)},
                    {"sessionId", event.session_id},
                    {"kind", event.kind},
                    {"text", event.text}};
  if (event.run) params["run"] = *event.run;
  if (event.exit_code) params["exitCode"] = *event.exit_code;
  if (event.duration_ms) params["durationMs"] = *event.duration_ms;
  if (!event.reason.empty()) params["reason"] = event.reason;
  return rpc::server_message("event", std::move(params));
}

}  // namespace

Client::Client(const Uses& uses, std::string owner)
    : uses_(uses), owner_(std::move(owner)), backend_(uses.parts, owner_, *this) {}

Client::~Client() { finish(); }

void Client::opened(std::shared_ptr<http::WebSocket> socket) {
  socket_ = std::move(socket);
  connection_.emplace(static_cast<rpc::Sink&>(*this), backend_);
}

void Client::received(Frame frame, std::string message) {
  if (frame == Frame::binary) return take_typed(message);
  connection_->take(message);
}

void Client::take_typed(std::string_view frame) {
  if (frame.size() < 4)
    return socket_->close(1007, "a binary frame begins with a terminal's number");
  std::uint32_t number = 0;
  for (const char c : frame.substr(0, 4)) number = number << 8 | static_cast<unsigned char>(c);
  const auto terminal = uses_.terminals.find(number, owner_);
  // One that has ended meanwhile: what was typed for it is dropped.
  if (terminal && !terminal->type(frame.substr(4)))
    socket_->close(1008, "a terminal is typed into faster than it reads");
}

// Whoever waits in a sandbox is let go by a thread that may wait.
void Client::closed() { finish(); }

void Client::finish() {
  if (socket_) uses_.terminals.hide_all(socket_.get());
  std::uint64_t stats = 0;
  {
    const MutexLock lock(watch_mutex_);
    stats = std::exchange(stats_, 0);
    events_ = {};
  }
  if (stats != 0) uses_.ticker.remove(stats);
  connection_.reset();
  socket_.reset();
}

void Client::send(Kind kind, std::string message) noexcept {
  if (kind == Kind::notice) (void)socket_->wait_for_room();
  socket_->send(Frame::text, kind == Kind::notice ? SocketKind::notice : SocketKind::answer,
                std::move(message));
}

void Client::send_last(std::string message) noexcept {
  socket_->send(Frame::text, SocketKind::answer, std::move(message));
  socket_->close(1000, "");
}

void Client::tell_events(std::string session_id, std::uint64_t since) {
  session::EventLog::Subscription before;  // ends without the lock
  auto events = uses_.parts.sessions.events().subscribe(
      owner_, std::move(session_id), since, [socket = socket_](const session::LoggedEvent& event) {
        socket->send(Frame::text, SocketKind::notice, event_message(event));
      });
  const MutexLock lock(watch_mutex_);
  before = std::exchange(events_, std::move(events));
}

void Client::tell_stats(std::chrono::milliseconds interval) {
  std::uint64_t before = 0;
  {
    const MutexLock lock(watch_mutex_);
    before = std::exchange(stats_, 0);
    last_requests_ = uses_.parts.requests();
    last_stats_ = std::chrono::steady_clock::now();
  }
  if (before != 0) uses_.ticker.remove(before);
  const std::uint64_t id = uses_.ticker.add(interval, [this] { send_stats(); });
  const MutexLock lock(watch_mutex_);
  stats_ = id;
}

void Client::send_stats() {
  rpc::Reply server = server_usage(uses_.parts);
  {
    const MutexLock lock(watch_mutex_);
    const std::uint64_t requests = uses_.parts.requests();
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_stats_).count();
    server["requestsPerSecond"] =
        seconds > 0 ? static_cast<double>(requests - last_requests_) / seconds : 0.0;
    last_requests_ = requests;
    last_stats_ = now;
  }
  rpc::Reply sessions = rpc::Reply::array();
  for (const auto& session : uses_.parts.sessions.list(owner_, stats_sessions_max, 0).sessions)
    sessions.push_back(session_reply(*session));
  socket_->send(Frame::text, SocketKind::notice,
                rpc::server_message(
                    "stats", {{"server", std::move(server)}, {"sessions", std::move(sessions)}}));
}

}  // namespace cloche::remote
