// SPDX-License-Identifier: Apache-2.0
#include "net/dns.h"

#include <gtest/gtest.h>

#include <span>
#include <string_view>
#include <vector>

namespace cloche::net {
namespace {

std::vector<std::byte> bytes(std::string_view text) {
  const auto all = std::as_bytes(std::span(text));
  return {all.begin(), all.end()};
}

constexpr std::string_view query_for_a(
    "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x03www\x07"
    "Example\x03"
    "com\x00\x00\x01\x00\x01",
    33);

TEST(dns, reads_a_query_and_answers_it) {
  const auto query = parse_dns_query(bytes(query_for_a));
  ASSERT_TRUE(query);
  EXPECT_EQ(query->name, "www.example.com");
  EXPECT_EQ(query->type, DnsQuery::a);
  const auto reply = dns_reply(*query, DnsAnswer::success,
                               {kernel::IpAddress::v4({1, 2, 3, 4}),
                                kernel::IpAddress::loopback(kernel::SocketFamily::inet6)});
  const std::string expected =
      std::string("\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00", 12) +
      std::string(query_for_a.substr(12)) +
      std::string("\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x1e\x00\x04\x01\x02\x03\x04", 16);
  EXPECT_EQ(reply, bytes(expected));
  // What is not permitted does not exist, for a libc.
  for (const DnsAnswer answer : {DnsAnswer::not_permitted, DnsAnswer::no_network})
    EXPECT_EQ(std::to_integer<int>(dns_reply(*query, answer, {})[3]) & 15, 3);
}

TEST(dns, nothing_that_is_cut_short_or_odd_is_a_query) {
  for (std::size_t length = 0; length < query_for_a.size(); ++length)
    EXPECT_FALSE(parse_dns_query(bytes(query_for_a.substr(0, length)))) << length;
  std::string odd(query_for_a);
  odd[2] = '\x81';  // an answer
  EXPECT_FALSE(parse_dns_query(bytes(odd)));
  odd = query_for_a;
  odd[12] = '\xc0';  // a pointer
  EXPECT_FALSE(parse_dns_query(bytes(odd)));
  odd = query_for_a;
  odd[14] = ' ';
  EXPECT_EQ(parse_dns_query(bytes(odd))->name, "");
  odd = query_for_a;
  odd[26] = odd[27] = '.';  // c..
  EXPECT_EQ(parse_dns_query(bytes(odd))->name, "");
}

}  // namespace
}  // namespace cloche::net
