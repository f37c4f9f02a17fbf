// SPDX-License-Identifier: Apache-2.0
// Elsewhere: where the owner of sessions here may have others: in other cells, or in workers.
#pragma once

#include <cstddef>
#include <string>

#include "cluster/session_pages.h"
#include "doors/http/message.h"

namespace cloche::cluster {

class Elsewhere {
 public:
  virtual ~Elsewhere() = default;

  // Whether it comes from there: then it has been counted there, and is about the sessions here.
  virtual bool is_from_peer(const http::Request& request) const = 0;

  // A page of all sessions of that owner, who asks; `own` has the newest here, offset + limit of
  // them. Who does not say theirs is named in X-Cloche-Missing-Cells, or "?". Waits.
  virtual http::Response list(const std::string& owner, const http::Request& request,
                              SessionPage own, std::size_t limit, std::size_t offset) = 0;
};

}  // namespace cloche::cluster
