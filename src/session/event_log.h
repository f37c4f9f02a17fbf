// SPDX-License-Identifier: Apache-2.0
// EventLog: what has happened in the sessions of a server: sessions come and go, commands begin and
// end, the network is allowed and refused. The last ones are kept; who subscribes is told of each.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "cloche/observer.h"
#include "session/session_facts.h"

namespace cloche::session {

struct LoggedEvent {
  std::uint64_t number = 0;  // given by the log: 1 for the first
  WallTime time;             // and this
  std::string session_id;
  std::string owner;
  std::string kind;                       // "created", "command.started", "network.refused", ...
  std::string text;                       // of a command its beginning, of the network where to
  std::optional<std::uint64_t> run = {};  // what begins and ends has the same
  std::optional<int> exit_code = {};
  std::optional<double> duration_ms = {};
  std::string reason = {};
  std::uint64_t count = 1;  // of what has happened: of "network.left_out" it may be more
};

class EventLog {
 public:
  static constexpr std::size_t kept = 10'000;
  static constexpr std::size_t text_limit_bytes = 200;
  // Told of every event, whoever owns it, on the thread on which it happens, without a lock held:
  // before it is told, and numbered, elsewhere. It must not throw.
  using Witness = std::function<void(const LoggedEvent& event)>;

  explicit EventLog(Witness witness = {}) : witness_(std::move(witness)) {}

  void add(LoggedEvent event);
  void add_run(const std::string& session_id, const std::string& owner, const RunEvent& event);
  void add_network(const std::string& session_id, const std::string& owner,
                   const NetworkEvent& event);

  // Told of the events of an owner, in order, on any thread, with the log locked: it must be quick,
  // must not throw and must not call the log.
  using Sink = std::function<void(const LoggedEvent& event)>;
  // Ends with it.
  class Subscription {
   public:
    Subscription() = default;
    Subscription(Subscription&& other) noexcept;
    Subscription& operator=(Subscription&& other) noexcept;
    ~Subscription();

   private:
    friend class EventLog;
    EventLog* log_ = nullptr;
    std::uint64_t id_ = 0;
  };
  // First those that are kept and have a higher number than `since`. An empty session: of all. The
  // log outlives the subscription.
  Subscription subscribe(std::string owner, std::string session_id, std::uint64_t since, Sink sink);

 private:
  struct Subscriber {
    std::uint64_t id;
    std::string owner;
    std::string session_id;
    Sink sink;
    bool wants(const LoggedEvent& event) const {
      return event.owner == owner && (session_id.empty() || session_id == event.session_id);
    }
  };

  const Witness witness_;
  Mutex mutex_;
  std::deque<LoggedEvent> events_ GUARDED_BY(mutex_);
  std::list<Subscriber> subscribers_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::uint64_t last_subscriber_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche::session
