// SPDX-License-Identifier: Apache-2.0
// ConsoleDoor: the console's page, and who logs in to it. What the page shows it gets by `/rpc`.
//
//   GET /console            the page; tells of no session, and so needs no token
//   GET /console/login      {"tokens": whether one is needed, "loggedIn": ...}
//   POST /console/login     {"token": ...}: a cookie, or 401
//   POST /console/logout    forgets it
//
// Thread-safe.
#pragma once

#include <chrono>
#include <deque>
#include <string_view>

#include "base/mutex.h"
#include "doors/http/login_cookies.h"
#include "doors/http/origin_guard.h"
#include "doors/http/server.h"
#include "doors/http/token_store.h"

namespace cloche::console {

class ConsoleDoor {
 public:
  // All of them outlive it.
  struct Parts {
    const http::TokenStore& tokens;
    http::LoginCookies& logins;
    const http::OriginGuard& guard;
  };
  explicit ConsoleDoor(Parts parts) : parts_(parts) {}

  static bool is_own(std::string_view path);
  http::Admission admit(const http::Request& head);
  http::Response answer(const http::Request& request);

 private:
  http::Response log_in(const http::Request& request);
  // Counts a wrong token; false beyond so many of them.
  bool may_fail();

  const Parts parts_;
  Mutex mutex_;
  std::deque<std::chrono::steady_clock::time_point> failures_
      GUARDED_BY(mutex_);  // of the last minute
};

}  // namespace cloche::console
