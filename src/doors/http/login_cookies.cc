// SPDX-License-Identifier: Apache-2.0
#include "doors/http/login_cookies.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/random.h"
#include "base/sha256.h"

namespace cloche::http {
namespace {

// Where there is TLS browsers take a cookie with this beginning from nobody but this very host: not
// from the servers in sandboxes, whose names end with its own.
constexpr std::string_view secure_name = "__Host-cloche_console";
constexpr std::string_view plain_name = secure_name.substr(std::string_view("__Host-").size());
constexpr std::size_t random_bytes = 32;

std::string_view name_of(bool is_secure) { return is_secure ? secure_name : plain_name; }

// Looked up by its hash: how long that takes says nothing about the cookies that exist.
std::string digest_of(std::string_view cookie) {
  const Sha256Digest bytes = sha256(cookie);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The cookie's value; empty where there is none.
std::string_view cookie_of(const Request& head) {
  const std::string_view name = name_of(head.secure);
  for (const auto& [field, value] : head.fields) {
    if (!same_text(field, "Cookie")) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(';'), rest.size());
      std::string_view pair = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      while (pair.starts_with(' ')) pair.remove_prefix(1);
      const std::size_t equals = pair.find('=');
      if (equals != pair.npos && pair.substr(0, equals) == name) return pair.substr(equals + 1);
    }
  }
  return {};
}

std::string set_cookie(std::string_view value, std::chrono::seconds age, bool is_secure) {
  return fmt::format("{}={}; Max-Age={}; Path=/; HttpOnly; SameSite=Strict{}", name_of(is_secure),
                     value, age.count(), is_secure ? "; Secure" : "");
}

}  // namespace

std::optional<std::string> LoginCookies::log_in(std::string_view token, bool is_secure) {
  if (!tokens_.owner_of(token)) return std::nullopt;
  const std::string cookie = random_hex(random_bytes);
  const MutexLock lock(mutex_);
  const Sha256Digest digest = sha256(token);
  make_room(digest);
  logins_.insert_or_assign(digest_of(cookie), Login{digest, now_() + lifetime});
  return set_cookie(cookie, lifetime, is_secure);
}

void LoginCookies::make_room(const Sha256Digest& token) {
  const Clock::time_point now = now_();
  std::erase_if(logins_, [&](const auto& entry) { return entry.second.until <= now; });
  std::size_t of_token = 0;
  auto first = logins_.end(), first_of_token = logins_.end();
  const auto is_sooner = [&](auto one, auto other) REQUIRES(mutex_) {
    return other == logins_.end() || one->second.until < other->second.until;
  };
  for (auto at = logins_.begin(); at != logins_.end(); ++at) {
    if (is_sooner(at, first)) first = at;
    if (at->second.token != token) continue;
    ++of_token;
    if (is_sooner(at, first_of_token)) first_of_token = at;
  }
  if (of_token >= token_limit) {
    logins_.erase(first_of_token);
  } else if (logins_.size() >= limit) {
    logins_.erase(first);
  }
}

std::string LoginCookies::log_out(const Request& head) {
  const MutexLock lock(mutex_);
  logins_.erase(digest_of(cookie_of(head)));
  return set_cookie("", std::chrono::seconds(0), head.secure);
}

std::optional<std::string> LoginCookies::owner_of(const Request& head) const {
  const std::string_view cookie = cookie_of(head);
  if (cookie.empty()) return std::nullopt;
  const MutexLock lock(mutex_);
  const auto found = logins_.find(digest_of(cookie));
  if (found == logins_.end() || found->second.until <= now_()) return std::nullopt;
  return tokens_.owner_of_digest(found->second.token);
}

}  // namespace cloche::http
