// SPDX-License-Identifier: Apache-2.0
// Peer: one client, as far as anything is kept of it: what it said of itself in a handshake, the
// requests that are in progress, and those that it was sent. Thread-safe.
//
// On standard streams the process has one, over HTTP a session of the legacy era has, and in the
// modern era each request has one of its own.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "doors/mcp/hub.h"
#include "doors/mcp/request.h"

namespace cloche::mcp {

class Peer : public std::enable_shared_from_this<Peer> {
 public:
  static constexpr std::size_t running_limit = 4096;  // requests in progress

  // `hub` outlives it.
  Peer(Hub& hub, Scope scope);
  ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Serves a message; what comes of it goes to `stream`: the answer of a request, or that it has
  // none. Does not wait for a sandbox.
  void take(Message message, std::shared_ptr<Channel> stream);

  // Where what belongs to no request goes (legacy); null: nowhere.
  void set_events(std::shared_ptr<Channel> stream);

  void cancel_all();
  // The same for a client that is there: it hears why.
  void call_off_all(const ProtocolError& why);
  // Answers the requests that go on until the server ends.
  void end_listening();
  bool is_idle() const;
  // False where that takes until `deadline`.
  bool wait_idle(std::chrono::steady_clock::time_point deadline) const;

  // What methods use.
  Hub& hub() noexcept { return hub_; }
  const Scope& scope() const noexcept { return scope_; }
  // Unlike any other peer's.
  const std::string& name() const noexcept { return name_; }
  // Keeps a request that goes on without a thread until it is over; calls `ended` then.
  void hold(const std::shared_ptr<Request>& request, std::function<void()> ended);
  // Of the handshake. Gives the version that is spoken from now on.
  std::string shake_hands(const Json& params);
  bool speaks_newest_legacy() const;
  // The answer of the client to a request of ours, on the stream of one of its own: the result;
  // nothing where it refuses, or the request is cancelled, or `patience` is over.
  std::optional<Json> ask(Request& request, std::string_view method, Reply params,
                          std::chrono::milliseconds patience);
  // To `set_events`.
  void send_event(std::string message);

 private:
  void serve(Message message, std::shared_ptr<Channel> stream);
  std::function<void()> end(const std::string& key);
  std::vector<std::shared_ptr<Request>> running() const;
  void take_notification(const Message& message);
  void take_answer(Message message);

  Hub& hub_;
  const Scope scope_;
  const std::string name_;
  mutable Mutex mutex_;
  mutable StoppableCondition changed_;
  std::map<std::string, std::weak_ptr<Request>> running_
      GUARDED_BY(mutex_);                    // by the id as JSON text
  std::size_t open_ GUARDED_BY(mutex_) = 0;  // requests whose answer is not out
  struct Held {
    std::shared_ptr<Request> request;
    std::function<void()> ended;
  };
  std::map<std::string, Held> held_;
  std::map<std::string, std::optional<Message>> asked_;  // by our id, with the answer
  std::uint64_t last_question_ = 0;
  Json capabilities_;  // of the handshake
  std::string version_{newest_legacy_version};
  std::shared_ptr<Channel> events_;
};

}  // namespace cloche::mcp
