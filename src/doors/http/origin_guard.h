// SPDX-License-Identifier: Apache-2.0
// OriginGuard: keeps pages of the web away from a server that asks for no token.
//
// A browser sends what any page asks it to, to this machine too. So such a server answers only
//  - to the names that it was told are its own: a name of the page's own owner may lead here (DNS
//    rebinding);
//  - to pages of its own, or of an origin that was allowed: a browser says which page asks (Origin,
//    Sec-Fetch-Site);
//  - to a browser's POST that no form can make: its type says JSON, or nothing.
// What is no browser says none of this, and needs no more than the name.
//
// Immutable; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doors/http/message.h"

namespace cloche::http {

class OriginGuard {
 public:
  // `host` is where the server listens; its own names are that one and those of this machine's
  // loopback, and any address where it listens on all. `names` are further ones, "*" is any.
  // `origins` are as is_origin has them.
  OriginGuard(const std::string& host, const std::vector<std::string>& names,
              std::vector<std::string> origins);

  struct Fault {
    int status;  // 403 or 415
    std::string sentence;
  };
  enum class Body : std::uint8_t { json, bytes };
  // Why the request is not answered; nothing: it is. `body` is what it may carry.
  std::optional<Fault> fault(const Request& head, Body body) const;

  // The same as far as it is about which page asks, and not about names.
  std::optional<Fault> page_fault(const Request& head) const;

  // The request's origin where that is an allowed one; otherwise empty. Its page may read the
  // answers.
  std::string_view allowed_origin(const Request& head) const;

  // SCHEME://NAME or SCHEME://NAME:PORT, in lower case.
  static bool is_origin(std::string_view text);

 private:
  bool has_name(std::string_view host_field) const;

  bool any_name_ = false;
  bool any_address_ = false;
  std::vector<std::string> names_;  // in lower case, without brackets
  const std::vector<std::string> origins_;
};

}  // namespace cloche::http
