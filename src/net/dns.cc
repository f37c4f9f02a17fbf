// SPDX-License-Identifier: Apache-2.0
#include "net/dns.h"

#include "net/rule.h"

namespace cloche::net {
namespace {

constexpr std::size_t header_bytes = 12;
constexpr std::uint16_t class_internet = 1;
constexpr std::uint32_t time_to_live_s = 30;
constexpr std::size_t max_answers = 16;

std::uint16_t word_at(std::span<const std::byte> bytes, std::size_t at) {
  return static_cast<std::uint16_t>((std::to_integer<unsigned>(bytes[at]) << 8) |
                                    std::to_integer<unsigned>(bytes[at + 1]));
}

void add_word(std::vector<std::byte>& to, std::uint32_t word) {
  to.push_back(static_cast<std::byte>(word >> 8 & 0xff));
  to.push_back(static_cast<std::byte>(word & 0xff));
}

}  // namespace

std::optional<DnsQuery> parse_dns_query(std::span<const std::byte> packet) {
  if (packet.size() < header_bytes) return std::nullopt;
  const std::uint16_t flags = word_at(packet, 2);
  const bool is_query = (flags & 0xf800) == 0;
  if (!is_query || word_at(packet, 4) != 1) return std::nullopt;
  std::string name;
  std::size_t at = header_bytes;
  for (;;) {
    if (at >= packet.size()) return std::nullopt;
    const std::size_t length = std::to_integer<std::size_t>(packet[at++]);
    if (length == 0) break;
    if (length > 63 || at + length > packet.size() || name.size() + length > 254)
      return std::nullopt;
    if (!name.empty()) name.push_back('.');
    name.append(reinterpret_cast<const char*>(packet.data() + at), length);
    at += length;
  }
  if (at + 4 > packet.size() || word_at(packet, at + 2) != class_internet) return std::nullopt;
  DnsQuery query;
  query.id = word_at(packet, 0);
  query.name = canonical_name(name);
  query.type = word_at(packet, at);
  const auto question = packet.subspan(header_bytes, at + 4 - header_bytes);
  query.question.assign(question.begin(), question.end());
  return query;
}

std::vector<std::byte> dns_reply(const DnsQuery& query, DnsAnswer answer,
                                 const std::vector<kernel::IpAddress>& addresses) {
  std::vector<std::byte> reply;
  add_word(reply, query.id);
  constexpr std::uint32_t response = 0x8180;  // with recursion, which was asked for
  add_word(reply, response | static_cast<std::uint32_t>(answer));
  add_word(reply, 1);
  const std::size_t count_at = reply.size();
  add_word(reply, 0);
  add_word(reply, 0);
  add_word(reply, 0);
  reply.insert(reply.end(), query.question.begin(), query.question.end());
  std::size_t count = 0;
  for (const kernel::IpAddress& address : addresses) {
    const bool v4 = address.is_v4();
    if (query.type != (v4 ? DnsQuery::a : DnsQuery::aaaa) || count == max_answers) continue;
    add_word(reply, 0xc000 | header_bytes);  // the question's name
    add_word(reply, query.type);
    add_word(reply, class_internet);
    add_word(reply, time_to_live_s >> 16);
    add_word(reply, time_to_live_s & 0xffff);
    add_word(reply, v4 ? 4 : 16);
    for (std::size_t i = v4 ? 12 : 0; i < address.bytes.size(); ++i)
      reply.push_back(static_cast<std::byte>(address.bytes[i]));
    ++count;
  }
  reply[count_at + 1] = static_cast<std::byte>(count);
  return reply;
}

}  // namespace cloche::net
