// SPDX-License-Identifier: Apache-2.0
// Resolver: names to addresses, by the host's own means, on threads of its own. A name server may
// let each of them wait for long, so those of all resolvers together are bounded, also those that
// are still in a lookup when their resolver has ended: each resolver has one as long as there are
// not very many, and up to eight where there are few. One that is idle for a while ends.
//
// Thread-safe. `answer` is called on one of its threads, once for each query, except for those that
// are dropped at its end. The end does not wait for lookups: a thread that is in one ends later.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernel/sockets/address.h"

namespace cloche::net {

class Resolver {
 public:
  struct Found {
    bool exists = false;  // the name does, perhaps without addresses
    bool failed = false;  // nobody could say
    std::vector<kernel::IpAddress> addresses;
  };
  using Answer = std::function<void(Found)>;
  // Blocks. The host's getaddrinfo, or what a test puts in its place.
  using Lookup = std::function<Found(const std::string& name)>;

  static Found look_up_on_host(const std::string& name);

  explicit Resolver(Lookup lookup);
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  // False when too many wait already, or there is no thread.
  bool ask(std::string name, Answer answer);

  static constexpr std::size_t max_threads = 8;  // of one
  static constexpr std::size_t few_threads = 256;
  static constexpr std::size_t very_many_threads = 4096;
  // Of all resolvers of this process.
  static std::size_t threads() noexcept;

 private:
  struct State;
  static void work(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;
};

}  // namespace cloche::net
