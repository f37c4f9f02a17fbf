// SPDX-License-Identifier: Apache-2.0
// LoginCookies: who has logged in from a browser with a token. A cookie is random and says nothing
// of the token; it is good as long as its token is known. Thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/mutex.h"
#include "base/share_limit.h"
#include "doors/http/message.h"
#include "doors/http/token_store.h"

namespace cloche::http {

class LoginCookies {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::hours lifetime{12};
  static constexpr std::size_t limit = 10'000;
  static constexpr std::size_t token_limit = three_quarters(limit);

  // `tokens` outlives it.
  explicit LoginCookies(const TokenStore& tokens,
                        std::function<Clock::time_point()> now = Clock::now)
      : tokens_(tokens), now_(std::move(now)) {}

  // The value of the field Set-Cookie; nothing for a token that is not known. Where there are too
  // many, of this token or in all, the one of them that ends first goes.
  std::optional<std::string> log_in(std::string_view token, bool is_secure);
  // The same, for a cookie that the browser must forget.
  std::string log_out(const Request& head);
  // Nothing where the request has no cookie of ours, or one whose time is over, or whose token is
  // not known any more.
  std::optional<std::string> owner_of(const Request& head) const;

 private:
  struct Login {
    Sha256Digest token;
    Clock::time_point until;
  };
  void make_room(const Sha256Digest& token) REQUIRES(mutex_);

  const TokenStore& tokens_;
  const std::function<Clock::time_point()> now_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, Login> logins_
      GUARDED_BY(mutex_);  // by the SHA-256 of the cookie
};

}  // namespace cloche::http
