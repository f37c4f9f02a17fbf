// SPDX-License-Identifier: Apache-2.0
#include "native/warden/routes.h"

#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <array>
#include <cstring>
#include <span>

#include "native/warden/fd.h"

namespace cloche::warden {
namespace {

constexpr int loopback_device = 1;
constexpr std::uint8_t own_table = 100;
constexpr std::uint32_t rule_priority = 100;

using Bytes = std::span<const std::uint8_t>;

// The box's own address, as in the other engine.
constexpr std::array<std::uint8_t, 4> own_v4{10, 0, 2, 15};
constexpr std::array<std::uint8_t, 16> own_v6{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0f};

// A request to the kernel: a header, a body, attributes.
class Request {
 public:
  template <typename Body>
  Request(std::uint16_t type, const Body& body) {
    head().nlmsg_type = type;
    head().nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL;
    head().nlmsg_len = NLMSG_LENGTH(sizeof body);
    std::memcpy(NLMSG_DATA(&head()), &body, sizeof body);
  }

  Request& with(std::uint16_t type, Bytes value) {
    const std::size_t at = NLMSG_ALIGN(head().nlmsg_len);
    rtattr attribute{};
    attribute.rta_type = type;
    attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(value.size()));
    std::memcpy(bytes_.data() + at, &attribute, sizeof attribute);
    std::memcpy(bytes_.data() + at + RTA_LENGTH(0), value.data(), value.size());
    head().nlmsg_len = static_cast<std::uint32_t>(at + RTA_ALIGN(attribute.rta_len));
    return *this;
  }
  template <typename Number>
  Request& with_number(std::uint16_t type, Number number) {
    std::array<std::uint8_t, sizeof number> value{};
    std::memcpy(value.data(), &number, sizeof number);
    return with(type, value);
  }

  // -1 with errno; what is there already is no error.
  int send(const Fd& socket) {
    if (::send(socket.get(), bytes_.data(), head().nlmsg_len, 0) < 0) return -1;
    alignas(nlmsghdr) std::array<char, 1024> answer{};
    const ssize_t got = ::recv(socket.get(), answer.data(), answer.size(), 0);
    if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) {
      if (got >= 0) errno = EBADMSG;
      return -1;
    }
    nlmsgerr said{};
    std::memcpy(&said, answer.data() + NLMSG_HDRLEN, sizeof said);
    if (said.error == 0 || said.error == -EEXIST) return 0;
    errno = -said.error;
    return -1;
  }

 private:
  nlmsghdr& head() { return *reinterpret_cast<nlmsghdr*>(bytes_.data()); }

  alignas(nlmsghdr) std::array<std::uint8_t, 256> bytes_{};
};

int lay(const Fd& socket, std::uint8_t family, Bytes own) {
  ifaddrmsg address{};
  address.ifa_family = family;
  address.ifa_prefixlen = static_cast<std::uint8_t>(own.size() * 8);
  address.ifa_flags = IFA_F_NODAD;
  address.ifa_index = loopback_device;
  if (Request(RTM_NEWADDR, address).with(IFA_LOCAL, own).with(IFA_ADDRESS, own).send(socket) != 0)
    return -1;
  rtmsg route{};
  route.rtm_family = family;
  route.rtm_table = own_table;
  route.rtm_protocol = RTPROT_BOOT;
  route.rtm_scope = RT_SCOPE_HOST;
  route.rtm_type = RTN_LOCAL;
  if (Request(RTM_NEWROUTE, route)
          .with_number(RTA_OIF, loopback_device)
          .with(RTA_PREFSRC, own)
          .send(socket) != 0)
    return -1;
  fib_rule_hdr rule{};
  rule.family = family;
  rule.table = own_table;
  rule.action = FR_ACT_TO_TBL;
  return Request(RTM_NEWRULE, rule)
      .with_number(FRA_PRIORITY, rule_priority)
      .with_number(FRA_FWMARK, own_mark)
      .send(socket);
}

}  // namespace

Outcome lay_routes() noexcept {
  const Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  CLOCHE_STEP(Step::network, socket.get());
  CLOCHE_STEP(Step::network, lay(socket, AF_INET, own_v4));
  // A machine may be without it.
  (void)lay(socket, AF_INET6, own_v6);
  return {};
}

}  // namespace cloche::warden
