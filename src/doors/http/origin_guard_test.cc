// SPDX-License-Identifier: Apache-2.0
#include "doors/http/origin_guard.h"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

using Body = OriginGuard::Body;

int status_of(const OriginGuard& guard, Fields fields, std::string method = "POST",
              Body body = Body::json) {
  Request head;
  head.method = std::move(method);
  head.fields = std::move(fields);
  const auto fault = guard.fault(head, body);
  return fault ? fault->status : 200;
}

TEST(OriginGuard, AnswersToItsOwnNames) {
  const OriginGuard guard("127.0.0.1", {"box.example", "[fd00::1]"}, {});
  for (const char* host :
       {"localhost", "localhost:8000", "LocalHost:1", "127.0.0.1:8000", "[::1]:8000", "[::1]",
        "localhost.", "box.example:8000", "BOX.example", "[fd00::1]:80", ""})
    EXPECT_EQ(status_of(guard, {{"Host", host}}), 200) << host;
  for (const char* host : {"evil.example", "evil.example:8000", "127.0.0.1.evil.example",
                           "localhost.evil.example", "localhost:x", "[::1", "[::1]x", "10.0.0.1",
                           "127.0.0.2", "evil@localhost", "localhost evil", "::1", "xlocalhost"})
    EXPECT_EQ(status_of(guard, {{"Host", host}}), 403) << host;
  EXPECT_EQ(status_of(guard, {}), 200);  // HTTP/1.0: no browser
  EXPECT_EQ(status_of(guard, {{"Host", "ID:22"}}, "CONNECT"), 200);
}

TEST(OriginGuard, AnswersToAnyAddressWhereItListensOnAll) {
  const OriginGuard guard("0.0.0.0", {}, {});
  EXPECT_EQ(status_of(guard, {{"Host", "10.0.0.1:8000"}}), 200);
  EXPECT_EQ(status_of(guard, {{"Host", "[fe80::1]:8000"}}), 200);
  EXPECT_EQ(status_of(guard, {{"Host", "evil.example"}}), 403);
  EXPECT_EQ(status_of(guard, {{"Host", "10.0.0.1.evil.example"}}), 403);
  EXPECT_EQ(status_of(OriginGuard("10.0.0.1", {}, {}), {{"Host", "10.0.0.1"}}), 200);
  EXPECT_EQ(status_of(OriginGuard("127.0.0.1", {"*"}, {}), {{"Host", "any.example"}}), 200);
}

TEST(OriginGuard, RefusesPagesOfOthers) {
  const OriginGuard guard("127.0.0.1", {}, {"https://app.example", "http://localhost:3000"});
  const auto with = [&](const char* name, const char* value) {
    return status_of(guard, {{"Host", "localhost:8000"}, {name, value}});
  };
  for (const char* origin :
       {"https://evil.example", "null", "", "http://localhost:8001", "http://127.0.0.1:8000",
        "http://localhost:8000.evil.example", "https://app.example.evil", "ftp://localhost:8000"})
    EXPECT_EQ(with("Origin", origin), 403) << origin;
  for (const char* origin : {"http://localhost:8000", "https://localhost:8000",
                             "https://app.example", "http://localhost:3000"})
    EXPECT_EQ(with("Origin", origin), 200) << origin;
  EXPECT_EQ(with("Sec-Fetch-Site", "cross-site"), 403);
  EXPECT_EQ(with("Sec-Fetch-Site", "same-site"), 403);
  EXPECT_EQ(with("Sec-Fetch-Site", "same-origin"), 200);
  EXPECT_EQ(with("Sec-Fetch-Site", "none"), 200);
  EXPECT_EQ(status_of(guard, {{"Host", "localhost"}, {"Sec-Fetch-Site", "cross-site"}}, "GET"),
            403);
  EXPECT_EQ(status_of(guard, {{"Host", "localhost"},
                              {"Origin", "https://app.example"},
                              {"Sec-Fetch-Site", "cross-site"}}),
            200);
}

TEST(OriginGuard, WantsJsonOfBrowsersOnly) {
  const OriginGuard guard("127.0.0.1", {}, {});
  for (const char* type : {"application/x-www-form-urlencoded", "text/plain",
                           "Text/Plain; charset=utf-8", "multipart/form-data; boundary=x"}) {
    const Fields curl{
        {"Host", "localhost:8000"}, {"User-Agent", "curl/7.88"}, {"Content-Type", type}};
    EXPECT_EQ(status_of(guard, curl), 200) << type;
    for (const auto& [name, value] : Fields{{"Origin", "http://localhost:8000"},
                                            {"Sec-Fetch-Site", "same-origin"},
                                            {"Referer", "http://localhost:8000/"}}) {
      Fields browser = curl;
      browser.emplace_back(name, value);
      EXPECT_EQ(status_of(guard, browser), 415) << type << name;
      EXPECT_EQ(status_of(guard, browser, "POST", Body::bytes), 200) << type;
    }
  }
  for (const char* type : {"application/json", "application/json; charset=utf-8", ""})
    EXPECT_EQ(status_of(guard, {{"Host", "localhost:8000"},
                                {"Origin", "http://localhost:8000"},
                                {"Content-Type", type}}),
              200);
}

TEST(OriginGuard, KnowsOrigins) {
  for (const char* text : {"http://localhost:3000", "https://app.example", "http://[::1]:80"})
    EXPECT_TRUE(OriginGuard::is_origin(text)) << text;
  for (const char* text : {"", "localhost", "https://", "https://a/", "https://A.example", "ws://a",
                           "http://a b", "*", "null"})
    EXPECT_FALSE(OriginGuard::is_origin(text)) << text;
}

}  // namespace
}  // namespace cloche::http
