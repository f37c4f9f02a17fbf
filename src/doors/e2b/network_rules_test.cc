// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/network_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::e2b {
namespace {

using ::testing::HasSubstr;
using Rules = std::vector<std::string>;

const Rules none;
const Rules names{"*.example.com"};
const Rules all{"*"};
const Rules granted{"granted.example"};

struct Operator {
  Rules usual;   // --session-net, --e2b-net
  Rules grants;  // --allow-session-net
  Rules denied;  // --session-net-deny
};
struct Wish {
  Rules allow;
  Rules deny;
  bool internet = true;
};
using Got = std::variant<std::optional<Rules>, NetworkRefusal>;

Got within(const Operator& allowed, const Wish& wish) {
  SandboxOptions usual;
  usual.network.allow = allowed.usual;
  usual.network.deny = allowed.denied;
  std::vector<sandbox::Grant> grants;
  for (const std::string& rule : allowed.grants)
    grants.push_back(sandbox::grant_of(*sandbox::find_option("net"), "--allow-session-net", rule));
  return rules_within({.given = {},
                       .allow = wish.allow,
                       .deny = wish.deny,
                       .allow_internet_access = wish.internet,
                       .allow_public_traffic = {}},
                      usual, grants);
}

struct Case {
  const char* what;
  Operator allowed;
  Wish wish;
  std::optional<Rules> rules;  // nothing: what it would have anyway
};

TEST(NetworkRules, AreWhatIsWishedWithinWhatTheOperatorAllows) {
  const Case cases[] = {
      {"nothing is said, nothing is open", {}, {}, std::nullopt},
      {"nothing is said, something is open", {.usual = names}, {}, std::nullopt},
      {"no internet", {.usual = names}, {.internet = false}, none},
      {"no internet where there is none", {}, {.internet = false}, none},
      {"all is denied", {.usual = all}, {.deny = all}, none},
      {"what is usual, said", {.usual = names}, {.allow = names}, names},
      {"less than what is usual",
       {.usual = names},
       {.allow = {"a.example.com:443"}},
       Rules{"a.example.com:443"}},
      {"what a client names, without bounds",
       {},
       {.allow = {"localhost:8080", "*"}},
       Rules{"localhost:8080", "*"}},
      {"also beside what is usual, and without internet",
       {.usual = names},
       {.allow = {"10.0.0.1"}, .internet = false},
       Rules{"10.0.0.1"}},
      {"what is granted", {.grants = {"10.0.0.0/8"}}, {.allow = {"10.1.2.3"}}, Rules{"10.1.2.3"}},
      {"what is granted, everything", {.grants = all}, {.allow = all}, all},
      {"what is allowed wins",
       {.grants = names},
       {.allow = {"a.example.com"}, .deny = all},
       Rules{"a.example.com"}},
      {"also where there is no internet otherwise",
       {.grants = names},
       {.allow = {"a.example.com"}, .internet = false},
       Rules{"a.example.com"}},
      {"something is denied where nothing is open", {}, {.deny = {"8.8.8.8"}}, none},
      {"something is denied where only that is open which is asked for",
       {.usual = all, .grants = {"1.1.1.1"}},
       {.allow = {"1.1.1.1"}, .deny = {"8.8.8.8"}},
       Rules{"1.1.1.1"}},
      {"the operator denies it anyway",
       {.usual = all, .denied = {"8.8.8.0/24"}},
       {.deny = {"8.8.8.8"}},
       all},
  };
  for (const Case& each : cases) {
    const Got got = within(each.allowed, each.wish);
    ASSERT_TRUE(std::holds_alternative<std::optional<Rules>>(got)) << each.what;
    EXPECT_EQ(std::get<0>(got), each.rules) << each.what;
  }
}

struct Refused {
  const char* what;
  Operator allowed;
  Wish wish;
  const char* words;
};

TEST(NetworkRules, AreRefusedBeyondThat) {
  const Refused cases[] = {
      {"everything",
       {.grants = granted},
       {.allow = all},
       "network.allowOut: 'network.allow' may not be the rule *"},
      {"more than one has",
       {.usual = names, .grants = granted},
       {.allow = all},
       "--allow-session-net"},
      {"another name",
       {.usual = names, .grants = granted},
       {.allow = {"example.org"}},
       "the rule example.org"},
      {"one of several",
       {.usual = names, .grants = granted},
       {.allow = {"a.example.com", "b.example.org"}},
       "the rule b.example.org"},
      {"another port", {.grants = {"a.example:443"}}, {.allow = {"a.example"}}, "a.example"},
      {"this machine, by a grant of all names",
       {.grants = all},
       {.allow = {"localhost"}},
       "localhost"},
      {"a private address, by a grant of all names",
       {.grants = all},
       {.allow = {"169.254.169.254"}},
       "169.254.169.254"},
      {"a wider range", {.grants = {"10.1.0.0/16"}}, {.allow = {"10.0.0.0/8"}}, "10.0.0.0/8"},
      {"although all else is denied",
       {.grants = granted},
       {.allow = {"a.example"}, .deny = all},
       "a.example"},
      {"although there is no internet",
       {.grants = granted},
       {.allow = {"a.example"}, .internet = false},
       "a.example"},
      {"no rule, without bounds", {}, {.allow = {"not a rule"}}, "network.allowOut: "},
      {"no rule", {.grants = all}, {.allow = {"not a rule"}}, "network.allowOut: "},
      {"a part of what all have",
       {.usual = all},
       {.deny = {"8.8.8.8"}},
       "network.denyOut: 8.8.8.8 cannot be taken out"},
      {"no rule of it", {.usual = all}, {.deny = {"not a rule"}}, "network.denyOut: "},
  };
  for (const Refused& each : cases) {
    const Got got = within(each.allowed, each.wish);
    ASSERT_TRUE(std::holds_alternative<NetworkRefusal>(got)) << each.what;
    EXPECT_THAT(std::get<NetworkRefusal>(got).sentence, HasSubstr(each.words)) << each.what;
  }
}

}  // namespace
}  // namespace cloche::e2b
