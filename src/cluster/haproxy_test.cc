// SPDX-License-Identifier: Apache-2.0
#include "cluster/haproxy.h"

#include <gmock/gmock.h>

namespace cloche::cluster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Haproxy, ServersHaveTheKeysOfIdsAsNames) {
  const std::string text =
      haproxy_configuration({.cells = {{1, "one:8000"}, {0x4a7f, "[::1]:8001"}}, .listen = ":80"});
  EXPECT_THAT(text, HasSubstr("    bind :80\n"));
  EXPECT_THAT(text, HasSubstr("    option idle-close-on-response\n"));
  EXPECT_THAT(text, HasSubstr("    server 0001 one:8000\n    server 4a7f [::1]:8001\n"));
  EXPECT_THAT(text, HasSubstr("\nbackend cell-0001\n    server 0001 one:8000\n"));
  EXPECT_THAT(text, HasSubstr("\nbackend cell-4a7f\n    server 4a7f [::1]:8001\n"));
  EXPECT_THAT(text,
              HasSubstr("    use_backend %[var(txn.cell)] if { var(txn.cell),nbsrv gt 0 }\n"));
  EXPECT_THAT(text, Not(HasSubstr("resolvers")));
}

TEST(Haproxy, NamesAreResolvedWhileItRunsWhereThatIsWanted) {
  const std::string text =
      haproxy_configuration({.cells = {{1, "one:8000"}}, .resolves_names = true});
  EXPECT_THAT(text, HasSubstr("\nresolvers system\n"));
  EXPECT_THAT(text, HasSubstr("    server 0001 one:8000 resolvers system init-addr none\n"));
}

TEST(Haproxy, CellsThatSpeakTlsAreChecked) {
  const std::string text = haproxy_configuration(
      {.cells = {{1, "one:8000"}, {2, "[::1]:8001"}}, .authorities = "/etc/ca.pem"});
  EXPECT_THAT(text, HasSubstr("    server 0001 one:8000 ssl verify required ca-file /etc/ca.pem "
                              "sni str(one) verifyhost one\n"
                              "    server 0002 [::1]:8001 ssl verify required ca-file "
                              "/etc/ca.pem\n"));
  EXPECT_THAT(haproxy_configuration({.cells = {{1, "10.0.0.1:8000", "one"}}, .authorities = "ca"}),
              HasSubstr("    server 0001 10.0.0.1:8000 ssl verify required ca-file ca sni str(one) "
                        "verifyhost one\n"));
  EXPECT_THAT(haproxy_configuration({.cells = {{1, "one:8000"}}, .authorities = "system"}),
              HasSubstr(" ca-file @system-ca sni"));
}

}  // namespace
}  // namespace cloche::cluster
