// SPDX-License-Identifier: Apache-2.0
// OwnerLimit: how many requests of one owner a server has at a time, by HTTP/1.1 or HTTP/2, until
// all of the answer is sent, or the WebSocket has ended: who waits for an answer gives way to
// nobody, and so nobody may be all who wait.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/share_limit.h"

namespace cloche::http {

class OwnerLimit {
 public:
  using Permit = ShareLimit::Permit;

  // Three quarters of what one peer may have of that many connections.
  explicit OwnerLimit(std::size_t connections);

  // False: the owner has as many as one may have. Who has no name has no limit, and no permit.
  bool acquire(const std::string& owner, std::optional<Permit>& permit);

 private:
  ShareLimit requests_;
};

}  // namespace cloche::http
