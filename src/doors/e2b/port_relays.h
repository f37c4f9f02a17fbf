// SPDX-License-Identifier: Apache-2.0
// PortRelays: connections of clients to servers inside sandboxes. A relay says a request's head to
// the server, passes on its body and the answer as they come, and after an agreed WebSocket bytes
// both ways. Of the answer it looks at nothing but whether it begins with 101: what a client sends
// after its request otherwise never reaches the server, as it may be meant for another one.
//
// A client that has said all it will say (shutdown) is still answered: the server hears that its
// input has ended, as it would without a relay, and decides what it makes of it. Whether such a
// client has gone altogether is seen when it is sent something, or by the host's probes; where
// there are too many relays those of such clients end first.
//
// A relay keeps at most one piece each way, and is slowed down by who reads slowly. One that waits
// costs a descriptor and little memory. Who owes a body and sends nothing of it, who takes nothing
// of what there is for them, and a server that does not go on with its answer lose the connection
// after a while (Patience); a WebSocket may be silent for ever, until its client has ended.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "cloche/result.h"
#include "doors/e2b/server_request.h"
#include "doors/http/server.h"
#include "session/session.h"

namespace cloche::e2b {

class PortRelays {
 public:
  static constexpr std::size_t relays_max = 1024;
  static constexpr std::size_t of_owner_max = relays_max / 4 * 3;  // others find a place
  static constexpr std::size_t of_sandbox_max = 256;
  static constexpr std::size_t requests_max_bytes = 64 << 20;  // heads of all in progress

  // In which something must move.
  struct Patience {
    std::chrono::milliseconds stall = std::chrono::minutes(1);  // where there is more to come or go
    std::chrono::milliseconds silence =
        std::chrono::minutes(10);  // of a server, before and in its answer
  };
  // Throws std::system_error where the host gives no thread: there are enough from here on.
  explicit PortRelays(Patience patience);
  ~PortRelays();  // ends all
  PortRelays(const PortRelays&) = delete;
  PortRelays& operator=(const PortRelays&) = delete;

  struct Wish {
    std::string id;     // of the sandbox
    std::string owner;  // of it
    session::Session::Use use;
    std::uint16_t port;
    ServerRequest request;
    std::string last_words;  // for the client, where the server ends without a byte
  };
  // Answers the exchange, where there is no error. ECONNREFUSED: nobody listens; EMFILE: there are
  // too many relays.
  Result<void> start(Wish wish, http::Exchange& exchange);

  // Those of a sandbox end.
  void drop(const std::string& id);

 private:
  class Relay;
  class Handover;
  struct Threads;
  // Of whom there are too many relays for one more, where there are.
  enum class Crowd : std::uint8_t { none, sandbox, owner, all };
  Crowd crowd(const Wish& wish) const REQUIRES(mutex_);
  // The oldest relay whose client has ended, of those of whom there are too many. False: there is
  // none.
  bool end_one(const Wish& wish, Crowd of) REQUIRES(mutex_);
  void forget(std::uint64_t number);

  const Patience patience_;
  Mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<Relay>> relays_ GUARDED_BY(mutex_);
  std::size_t request_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  const std::unique_ptr<Threads> threads_;
};

}  // namespace cloche::e2b
