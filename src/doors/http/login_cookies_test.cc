// SPDX-License-Identifier: Apache-2.0
#include "doors/http/login_cookies.h"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

constexpr std::string_view secure_name = "__Host-cloche_console=";

Request with_cookie(const std::string& cookie, bool is_secure) {
  Request request;
  request.fields = {{"Cookie", cookie}};
  request.secure = is_secure;
  return request;
}

std::string pair_of(const std::string& set_cookie) {
  return set_cookie.substr(0, set_cookie.find(';'));
}

TEST(LoginCookies, AreGoodWhereTheyWereGot) {
  const TokenStore tokens({"alpha"}, "");
  LoginCookies logins(tokens);
  for (const bool is_secure : {false, true}) {
    const std::string cookie = pair_of(*logins.log_in("alpha", is_secure));
    EXPECT_TRUE(logins.owner_of(with_cookie("other=1; " + cookie, is_secure)));
    EXPECT_FALSE(logins.owner_of(with_cookie(cookie, !is_secure)));
    (void)logins.log_out(with_cookie(cookie, is_secure));
    EXPECT_FALSE(logins.owner_of(with_cookie(cookie, is_secure)));
  }
}

// A server in a sandbox, whose name is below this one's, may set cookies for this one too; but none
// that begins so.
TEST(LoginCookies, WithTlsAreOfThisHostAlone) {
  const TokenStore tokens({"alpha", "eve"}, "");
  LoginCookies logins(tokens);
  const std::string own = *logins.log_in("alpha", true);
  EXPECT_TRUE(own.starts_with(secure_name)) << own;
  EXPECT_NE(own.find("; Path=/;"), own.npos) << own;
  EXPECT_NE(own.find("; Secure"), own.npos) << own;
  EXPECT_EQ(own.find("Domain"), own.npos) << own;
  const std::string alpha = *logins.owner_of(with_cookie(pair_of(own), true));
  const std::string eves = pair_of(*logins.log_in("eve", true)).substr(secure_name.size());
  EXPECT_EQ(logins.owner_of(with_cookie("cloche_console=" + eves + "; " + pair_of(own), true)),
            alpha);
  EXPECT_FALSE(logins.owner_of(with_cookie("cloche_console=" + eves, true)));
}

TEST(LoginCookies, OneTokensPushOutItsOwnAlone) {
  const TokenStore tokens({"alpha", "eve"}, "");
  LoginCookies::Clock::time_point now{};
  LoginCookies logins(tokens, [&] { return now += std::chrono::milliseconds(1); });
  const std::string alpha = pair_of(*logins.log_in("alpha", true));
  const std::string first = pair_of(*logins.log_in("eve", true));
  for (std::size_t i = 0; i < LoginCookies::limit; ++i) ASSERT_TRUE(logins.log_in("eve", true));
  EXPECT_TRUE(logins.owner_of(with_cookie(alpha, true)));
  EXPECT_FALSE(logins.owner_of(with_cookie(first, true)));
}

}  // namespace
}  // namespace cloche::http
