// SPDX-License-Identifier: Apache-2.0
#include "net/no_network.h"

#include "net/dns.h"

namespace cloche::net {

Result<void> NoNetwork::connect(const kernel::InetAddress&,
                                std::shared_ptr<kernel::StreamConnection>,
                                std::weak_ptr<kernel::OutboundAttempt>) {
  return Errno::netunreach;
}

void NoNetwork::query(std::vector<std::byte> packet, NameReply reply) {
  if (const auto query = parse_dns_query(packet))
    reply(dns_reply(*query, DnsAnswer::no_network, {}));
}

}  // namespace cloche::net
