// SPDX-License-Identifier: Apache-2.0
#include "net/policy.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"
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
    EXPECT_THROW(Rule{bad}, Error) << bad;
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

// --- Every kind of rule against every other

struct Destination {
  const char* address;
  const char* name;  // null: none is known
};

constexpr std::uint16_t wanted_port = 443;
constexpr std::array<Destination, 8> destinations{{
    {"93.184.216.34", "api.example.com"},  // 0
    {"93.184.216.34", nullptr},            // 1
    {"10.0.0.5", nullptr},                 // 2
    {"127.0.0.1", nullptr},                // 3
    {"::1", "localhost"},                  // 4
    {"2606:4700::1", "api.example.com"},   // 5
    {"fd00::5", nullptr},                  // 6
    {"127.0.0.1", "localhost"},            // 7
}};

// A rule's host, and which destinations it has: as one that allows, as one that denies.
struct RuleKind {
  const char* host;
  const char* allows;
  const char* denies;
};
constexpr std::array<RuleKind, 19> rule_kinds{{
    {"api.example.com", "05", "05"},
    {"*.example.com", "05", "05"},
    {"API.Example.COM.", "05", "05"},
    {"*", "05", "01234567"},
    {"?*", "05", "01234567"},
    {"localhost", "347", "347"},
    {"local*", "", "347"},
    {"93.184.216.34", "01", "01"},
    {"93.184.216.0/24", "01", "01"},
    {"10.0.0.5", "2", "2"},
    {"10.0.0.0/8", "2", "2"},
    {"10.*", "", "2"},
    {"127.0.0.0/8", "37", "37"},
    {"0.0.0.0/0", "01237", "01237"},
    {"[::1]", "4", "4"},
    {"[fd00::/8]", "6", "6"},
    {"[2606:4700::1]", "5", "5"},
    {"[2606:4700::/32]", "5", "5"},
    {"[::/0]", "01234567", "01234567"},
}};

TEST(policy, denial_wins_between_every_pair_of_kinds) {
  const char* const allowed_ports[] = {"", ":443", ":80,400-500"};
  const std::pair<const char*, bool> denied_ports[] = {
      {"", true},         {":*", true},   {":443", true},     {":80,443", true},
      {":1-65535", true}, {":80", false}, {":444-500", false}};
  for (const RuleKind& allow : rule_kinds) {
    for (const char* ports : allowed_ports) {
      for (const RuleKind& deny : rule_kinds) {
        for (const auto& [denied, has_port] : denied_ports) {
          const std::string allow_text = std::string(allow.host) + ports;
          const std::string deny_text = std::string(deny.host) + denied;
          const Policy policy = policy_of({allow_text}, {deny_text});
          for (std::size_t i = 0; i < destinations.size(); ++i) {
            const auto has = [&](std::string_view set) {
              return set.find(static_cast<char>('0' + i)) != std::string_view::npos;
            };
            const Destination& to = destinations[i];
            const std::set<std::string> names =
                to.name ? std::set<std::string>{to.name} : std::set<std::string>{};
            EXPECT_EQ(allows(policy, to.address, wanted_port, names),
                      has(allow.allows) && !(has_port && has(deny.denies)))
                << "allow " << allow_text << ", deny " << deny_text << ", to " << to.address
                << " by " << (to.name ? to.name : "its address");
          }
        }
      }
    }
  }
}

TEST(policy, a_denial_among_many_rules_wins_wherever_it_stands) {
  for (const char* deny : {"localhost", "localhost:9000", "*", "*:9000", "127.0.0.0/8", "127.*",
                           "[::/0]", "loc?lhost"}) {
    const Policy policy = policy_of({"localhost", "127.0.0.1", "*", "0.0.0.0/0", "localhost:9000"},
                                    {"other.com", deny, "10.0.0.0/8"});
    for (const std::set<std::string>& names :
         {std::set<std::string>{}, {"localhost"}, {"a.com", "localhost"}})
      EXPECT_FALSE(allows(policy, "127.0.0.1", 9000, names)) << deny;
  }
}

TEST(policy, a_denial_of_this_machine_has_its_other_spellings) {
  const Policy policy = policy_of({"0.0.0.0/0", "[::/0]"}, {"localhost"});
  for (const char* here : {"127.0.0.1", "127.8.9.10", "::1", "0.0.0.0", "::", "::ffff:127.0.0.1",
                           "::7f00:1", "2002:7f00:1::", "64:ff9b::7f00:1"})
    EXPECT_FALSE(allows(policy, here)) << here;
  EXPECT_TRUE(allows(policy, "10.0.0.1"));
  EXPECT_FALSE(allows(policy_of({"[::/0]"}, {"127.0.0.1"}), "0.0.0.0"));
  EXPECT_FALSE(allows(policy_of({"[::/0]"}, {"[::1]"}), "::"));
}

TEST(policy, denial_wins) {
  const Policy policy = policy_of({"*", "10.0.0.0/8"}, {"bad.com", "10.0.0.5", "8.8.4.4", "*:25"});
  EXPECT_FALSE(allows(policy, "9.9.9.9", 443, {"bad.com"}));
  EXPECT_TRUE(allows(policy, "9.9.9.9", 443, {"bad.com", "good.com"}));
  EXPECT_FALSE(allows(policy, "10.0.0.5"));
  EXPECT_FALSE(allows(policy, "::ffff:10.0.0.5"));
  EXPECT_TRUE(allows(policy, "10.0.0.6"));
  EXPECT_FALSE(allows(policy, "10.0.0.6", 25));
  EXPECT_FALSE(allows(policy, "10.0.0.6", 443, {"bad.com", "good.com"}));
  EXPECT_FALSE(allows(policy, "9.9.9.9", 25, {"good.com"}));
  EXPECT_FALSE(policy.judge_name("bad.com").allowed);
  EXPECT_EQ(policy.judge(ip("10.0.0.5"), 443, {}).reason, "the rule '10.0.0.5' denies it");
  EXPECT_EQ(policy.judge(ip("9.9.9.9"), 443, {"bad.com"}).reason, "the rule 'bad.com' denies it");
}

// A name that could be asked for, and nothing else, would still carry out what stands in it.
TEST(policy, a_name_without_a_port_is_not_asked_for) {
  struct Case {
    const char* allow;
    std::vector<std::string> deny;
    bool asked;
  };
  const Case cases[] = {
      {"a.com", {}, true},
      {"a.com", {"*"}, false},
      {"a.com", {"a.com:*"}, false},
      {"a.com", {"a.com:1-65535"}, false},
      {"a.com", {"a.com:1-65534"}, true},
      {"a.com", {"*.com:2-65535", "a.*:1"}, false},
      {"a.com", {"a.com:1-99", "a.com:101-65535"}, true},
      {"a.com:443", {"a.com:443"}, false},
      {"a.com:443", {"a.com:80"}, true},
      {"a.com:80,443", {"a.com:80"}, true},
      {"a.com:80,443", {"a.com:443", "*:80"}, false},
      {"a.com:80-90", {"a.com:80-85"}, true},
      {"a.com:80-90", {"a.com:80-85", "a.com:86-90"}, false},
      {"a.com:443", {"b.com:443", "10.0.0.0/8"}, true},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(policy_of({one.allow}, one.deny).judge_name("a.com").allowed, one.asked)
        << one.allow << ", " << ::testing::PrintToString(one.deny);
  }
}

TEST(rule, covers_another_one_only_where_that_is_certain) {
  const auto covers = [](const char* wide, const char* narrow) {
    return Rule(wide).covers(Rule(narrow));
  };
  for (const auto& [wide, narrow] : std::initializer_list<std::pair<const char*, const char*>>{
           {"api.example.com", "api.example.com:443"},
           {"*.example.com:443", "api.example.com:443"},
           {"*.example.com", "*.api.example.com"},
           {"*", "*.com:80"},
           {"a.com:80-90,443", "a.com:85,443"},
           {"10.0.0.0/8", "10.1.0.0/16:22"},
           {"10.0.0.0/8:1-100", "10.1.2.3:22"},
           {"[fd00::/8]", "[fd00::1]"},
           {"localhost:1-100", "localhost:80"},
           {"?.com", "a.com"}}) {
    EXPECT_TRUE(covers(wide, narrow)) << wide << " " << narrow;
  }
  for (const auto& [wide, narrow] : std::initializer_list<std::pair<const char*, const char*>>{
           {"api.example.com:443", "api.example.com"},
           {"api.example.com:443", "api.example.com:80"},
           {"*.example.com", "example.com"},
           {"*.example.com", "*"},
           {"?.com", "*.com"},
           {"*", "10.0.0.1"},
           {"*", "localhost"},
           {"local*", "localhost"},
           {"localhost", "127.0.0.1"},
           {"10.1.0.0/16", "10.0.0.0/8"},
           {"10.0.0.0/8", "11.0.0.1"},
           {"a.com:80-90", "a.com:85-95"}}) {
    EXPECT_FALSE(covers(wide, narrow)) << wide << " " << narrow;
  }
}

// The host's resolver takes them for the same, or for addresses.
TEST(policy, other_spellings_of_a_name_are_none) {
  for (const char* name : {"evil.com..", ".evil.com", "evil..com", "..", "."})
    EXPECT_EQ(canonical_name(name), "") << name;
  EXPECT_EQ(canonical_name("Evil.com."), "evil.com");
  const Policy policy = policy_of({"*"}, {"*.evil.com."});
  EXPECT_TRUE(policy.judge_name("evil.com").allowed);
  EXPECT_FALSE(policy.judge_name("a.evil.com").allowed);
  EXPECT_FALSE(allows(policy, "8.8.8.8", 443, {"a.evil.com"}));
  for (const char* name : {"8.8.8.8", "134744072", "010.8", "0x8080808", "8.0x80808", "0x"})
    EXPECT_FALSE(policy.judge_name(name).allowed) << name;
  for (const char* name : {"8.8.8.8.example.com", "x1", "0xcafe.example", "a.b3", "1password"})
    EXPECT_TRUE(policy.judge_name(name).allowed) << name;
}

// 6to4, NAT64, IPv4-compatible and ISATAP: the last one's first half is anybody's public network.
TEST(policy, localhost_is_no_address_that_holds_one_of_loopback) {
  const Policy policy = policy_of({"localhost"});
  EXPECT_TRUE(allows(policy, "::ffff:127.0.0.1"));
  for (const char* address : {"2002:7f00:1::", "64:ff9b::7f00:1", "::7f00:1",
                              "2a01:4f8:1:2:0:5efe:7f00:1", "2a01:4f8:1:2:200:5efe:7f00:1"}) {
    EXPECT_FALSE(allows(policy, address)) << address;
    EXPECT_FALSE(allows(policy, address, 443, {"localhost"})) << address;
  }
}

}  // namespace
}  // namespace cloche::net
