// SPDX-License-Identifier: Apache-2.0
// StreamPlaces: how many streams of HTTP/2 a server has at a time, in all and of one peer. A
// connection of HTTP/1.1 is one request at a time, one of HTTP/2 is many: so they are counted too.
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

class StreamPlaces {
 public:
  // One peer holds three quarters at most.
  explicit StreamPlaces(std::size_t limit);

  // A stream's, from its head until all work for it has ended. The places outlive it.
  class Place {
   public:
    Place(StreamPlaces& places, std::string peer) : places_(&places), peer_(std::move(peer)) {}
    Place(Place&& other) noexcept
        : places_(std::exchange(other.places_, nullptr)), peer_(std::move(other.peer_)) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (places_) places_->leave(peer_);
    }

   private:
    StreamPlaces* places_;
    std::string peer_;
  };
  std::optional<Place> take(const std::string& peer);

  std::size_t taken() const;

 private:
  void leave(const std::string& peer);

  const std::size_t limit_;
  const std::size_t share_;
  mutable Mutex mutex_;
  std::unordered_map<std::string, std::size_t> peers_ GUARDED_BY(mutex_);
  std::size_t taken_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche::http
