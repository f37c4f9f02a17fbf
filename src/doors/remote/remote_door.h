// SPDX-License-Identifier: Apache-2.0
// RemoteDoor: `GET /rpc`: JSON-RPC with terminals, as a WebSocket. docs/websocket.md is its page.
//
// Thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "doors/http/login_cookies.h"
#include "doors/http/origin_guard.h"
#include "doors/http/server.h"
#include "doors/http/token_store.h"
#include "doors/remote/parts.h"
#include "doors/remote/terminals.h"
#include "doors/remote/ticker.h"

namespace cloche::remote {

class RemoteDoor {
 public:
  // All of them outlive it; it must outlive the work it posts to `workers`.
  struct Doorkeepers {
    const http::TokenStore& tokens;
    const http::LoginCookies& logins;
    const http::OriginGuard& guard;
  };
  RemoteDoor(Parts parts, Doorkeepers doorkeepers);
  ~RemoteDoor();
  RemoteDoor(const RemoteDoor&) = delete;
  RemoteDoor& operator=(const RemoteDoor&) = delete;

  static constexpr std::string_view path = "/rpc";
  static constexpr std::string_view protocol = "cloche.rpc.v1";

  // The owner, or why there is no WebSocket.
  struct Verdict {
    int status = 101;
    std::string sentence = {};
    std::string owner = {};
  };
  Verdict judge(const http::Request& head) const;
  // For one that was judged good.
  void open(http::Request request, const std::shared_ptr<http::Exchange>& exchange);
  // What nobody looks at any more ends.
  void stop() { terminals_.stop(); }

 private:
  const Parts parts_;
  const Doorkeepers doorkeepers_;
  Terminals terminals_;
  Ticker ticker_;
  Ticker::Id sweeping_;
};

}  // namespace cloche::remote
