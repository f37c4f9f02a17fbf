// SPDX-License-Identifier: Apache-2.0
// HttpDoor: /mcp of the server, the streamable HTTP of the protocol, in both eras.
//
// In the modern era each POST stands for itself, and a token's names outlive it; a client that
// closes the connection cancels what it asked for. In the legacy era `initialize` opens a session,
// which belongs to its token: it has names of its own, and sees the token's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/share_limit.h"
#include "doors/http/origin_guard.h"
#include "doors/http/server.h"
#include "doors/http/token_store.h"
#include "doors/mcp/http_channel.h"
#include "doors/mcp/peer.h"
#include "doors/mcp/subscriptions.h"

namespace cloche::mcp {

class HttpDoor {
 public:
  // All of them outlive it.
  struct Parts {
    Hub& hub;
    const http::TokenStore& tokens;
    const http::OriginGuard& guard;
  };
  static constexpr std::size_t session_limit = 10'000;  // one token has three quarters at most
  static constexpr std::chrono::hours idle_timeout{1};  // of a session

  explicit HttpDoor(Parts parts) : parts_(parts) {}
  ~HttpDoor() { stop(); }
  HttpDoor(const HttpDoor&) = delete;
  HttpDoor& operator=(const HttpDoor&) = delete;

  static bool is_mine(const http::Request& head) { return head.path == "/mcp"; }
  http::Admission admit(const http::Request& head) const;
  void handle(http::Request request, const std::shared_ptr<http::Exchange>& exchange);

  // Ends what goes on until the server ends, so that it may.
  void end_listening();
  // Cancels all calls, and ends all sessions and sandboxes.
  void stop();

 private:
  // What a token has for good.
  struct Tenant {
    std::shared_ptr<Space> own;    // what clients without a session use and gave no name
    std::shared_ptr<Space> named;  // what any client gave a name
    std::shared_ptr<Subscriptions> subscriptions = std::make_shared<Subscriptions>();
  };
  struct Session {
    std::string owner;
    std::shared_ptr<Peer> peer;
    std::chrono::steady_clock::time_point last_use;
    ShareLimit::Permit place;
  };
  using ExchangePtr = std::shared_ptr<http::Exchange>;

  std::optional<std::string> owner_of(const http::Request& head) const;
  Tenant tenant(const std::string& owner);
  // Null: there is none of that owner.
  std::shared_ptr<Peer> session(const std::string& id, const std::string& owner);
  // Empty where there are too many.
  std::string open_session(const std::string& owner);
  void watch(const std::string& id);
  void end_session(const std::string& id);

  void post(const std::string& owner, const http::Request& request, const ExchangePtr& exchange);
  void post_modern(const std::string& owner, const http::Request& request, Message message,
                   const ExchangePtr& exchange);
  void post_legacy(const std::string& owner, const http::Request& request, Message message,
                   const ExchangePtr& exchange);
  void get(const std::string& owner, const http::Request& request, const ExchangePtr& exchange);
  void remove(const std::string& owner, const http::Request& request, const ExchangePtr& exchange);

  const Parts parts_;
  ShareLimit places_{session_limit};
  Mutex mutex_;
  std::map<std::string, Tenant> tenants_ GUARDED_BY(mutex_);
  std::map<std::string, Session> sessions_ GUARDED_BY(mutex_);
  std::map<const Peer*, std::weak_ptr<Peer>> busy_ GUARDED_BY(mutex_);  // of the modern era
  bool stopping_ GUARDED_BY(mutex_) = false;
};

}  // namespace cloche::mcp
