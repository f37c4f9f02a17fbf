// SPDX-License-Identifier: Apache-2.0
// StreamLimit: how many streams of HTTP/2 a server has at a time, in all and of one peer. A
// connection of HTTP/1.1 is one request at a time, one of HTTP/2 is many: so they are counted too.
// OwnerLimit: how many requests of one owner it has at a time, by whichever of them, until all of
// the answer is sent, or the WebSocket has ended: who waits for an answer gives way to nobody, and
// so nobody may be all who wait.
//
// Thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/mutex.h"

namespace cloche::http {

class StreamLimit {
 public:
  // One peer holds three quarters at most.
  explicit StreamLimit(std::size_t limit);
  StreamLimit(std::size_t limit, std::size_t share);

  // One stream's, from its head until all work for it has ended. The limit outlives it.
  class Permit {
   public:
    Permit(StreamLimit& limit, std::string peer) : limit_(&limit), peer_(std::move(peer)) {}
    Permit(Permit&& other) noexcept
        : limit_(std::exchange(other.limit_, nullptr)), peer_(std::move(other.peer_)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit() {
      if (limit_) limit_->release(peer_);
    }

   private:
    StreamLimit* limit_;
    std::string peer_;
  };
  // None: there are as many streams as there may be.
  std::optional<Permit> acquire(const std::string& peer);

  std::size_t held() const;

 private:
  void release(const std::string& peer);

  const std::size_t limit_;
  const std::size_t share_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::size_t> peers_ GUARDED_BY(mutex_);
  std::size_t held_ GUARDED_BY(mutex_) = 0;
};

class OwnerLimit {
 public:
  using Permit = StreamLimit::Permit;

  // Three quarters of what one peer may have of that many connections.
  explicit OwnerLimit(std::size_t connections);

  // False: the owner has as many as one may have. Who has no name has no limit, and no permit.
  bool acquire(const std::string& owner, std::optional<Permit>& permit);

 private:
  StreamLimit requests_;
};

}  // namespace cloche::http
