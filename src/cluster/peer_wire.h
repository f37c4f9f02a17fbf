// SPDX-License-Identifier: Apache-2.0
// PeerWire: connections to peers, plain or by TLS.
//
// Of one by TLS its user has an end of a pair of sockets, and a thread of this one encrypts what
// goes through. A peer's certificate is always checked, and for the name by which the operator says
// where the peer is; later connections to the same name go on from the secrets of one before, as
// TLS has it.
//
// Thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "cluster/address.h"

namespace cloche::cluster {

class PeerWire {
 public:
  // Who vouches for peers, and so that there is TLS: a file of certificates (PEM), or `system`,
  // those that the system trusts. Empty: there is none. Throws HostError.
  static constexpr const char* system = "system";
  explicit PeerWire(const std::string& authorities = {});
  ~PeerWire();
  PeerWire(const PeerWire&) = delete;
  PeerWire& operator=(const PeerWire&) = delete;

  // What is begun from now on trusts what is in the file now. Throws HostError, and keeps those
  // before.
  void read_authorities();

  // A connection that is being made, or an empty one; it does not block. One that fails ends.
  UniqueFd begin(const Address& address) const;
  // One that is made, with TLS's part of it, or an empty one; it does not block. Waits.
  UniqueFd connect(const Address& address, std::chrono::steady_clock::time_point deadline) const;

 private:
  class Tls;
  const std::unique_ptr<Tls> tls_;  // null: plain
};

}  // namespace cloche::cluster
