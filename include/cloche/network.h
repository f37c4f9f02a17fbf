// SPDX-License-Identifier: Apache-2.0
// Network: what of the network a sandbox may reach. Nothing, unless a rule allows it.
//
// A rule is HOST, HOST:PORT, HOST:FROM-TO or HOST:PORT,PORT. HOST is
//   - a name, or a glob of names: api.example.com, *.example.com, * (names of any public host);
//   - an address or a range of them: 203.0.113.7, 10.1.0.0/16, [2001:db8::1], [fd00::/8];
//   - localhost: the machine that Cloche runs on.
// Without a port every port is meant.
//
// Names are resolved by the host, and the address that came out is judged, and is the one that is
// connected to. An address that is not of the public internet (loopback, private, link-local,
// carrier-grade NAT, multicast, documentation, cloud metadata, and their forms inside of IPv6) is
// reached only where a rule names an address or range that has it: a rule on names never opens one,
// so a name cannot be pointed at the inside. `localhost` opens loopback addresses.
//
// A denial wins over every rule that allows, and is read widely: * denies all that there is, a glob
// such as 10.* the addresses that begin so, localhost all of loopback. A denial of a name holds for
// connections that the name led to.
//
// The guide is docs/network.md.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace cloche {

// One decision.
struct NetworkEvent {
  // `left_out`: decisions that came while too many events waited for the audit, and that nothing
  // else tells of.
  enum class Kind : std::uint8_t { resolve, connect, tls, secret, left_out } kind = Kind::connect;
  bool allowed = false;
  std::string host;  // the name that was resolved to the address; empty: none was
  std::string address;
  std::uint16_t port = 0;
  std::string reason;       // the rule that allowed it, or one sentence that says why not
  std::uint64_t count = 1;  // of decisions: of `left_out` it may be more
};

// A value that the guest never sees: it has a placeholder, which the host replaces in the heads of
// HTTP/1.1 requests to these hosts.
struct Secret {
  std::string value;
  std::vector<std::string> hosts;  // names or globs; an address is refused
};

struct NetworkOptions {
  std::vector<std::string> allow = {};
  std::vector<std::string> deny = {};   // wins over allow, always
  std::uint32_t max_connections = 128;  // at a time
  std::uint64_t max_total_connections = 100'000;
  std::uint64_t max_bytes = 0;  // sent and received by the sandbox, ever; 0: no limit
  std::chrono::milliseconds connect_timeout{10'000};  // to each address
  std::chrono::milliseconds idle_timeout{300'000};    // without a byte in either direction; 0: none
  // Certificates (PEM) that TLS servers are checked against; empty: the system's.
  std::string trusted_certificates = {};
  // By name: the guest has an environment variable of that name, with the placeholder.
  std::map<std::string, Secret> secrets = {};
  // Told of each decision, in order, on a thread of the sandbox; where more than 4,096 wait for it,
  // how many were left out after those. It must not throw.
  std::function<void(const NetworkEvent& event)> audit = {};
};

}  // namespace cloche
