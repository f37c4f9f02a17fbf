// SPDX-License-Identifier: Apache-2.0
#include "cluster/ask.h"

#include <gtest/gtest.h>

#include "cluster/hop.h"
#include "cluster/peer_table.h"
#include "cluster/router.h"

namespace cloche::cluster {
namespace {

TEST(Ask, AnswersAreReadWholeOrNotAtAll) {
  const std::string head = "HTTP/1.1 200 OK\r\nX-A: b \r\nContent-Length: 3\r\n\r\n";
  const auto answer = parse_answer(head + "abc");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->body, "abc");
  EXPECT_EQ(answer->fields, (http::Fields{{"X-A", "b"}}));
  for (const std::string& text :
       {std::string(), std::string("HTTP/1.1"), head, head + "ab", head + "abcd",
        std::string("HTTP/1.1 200 OK\r\n\r\n"), std::string("HTTP/1.1 2x0 OK\r\n\r\n"),
        std::string("HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
        std::string("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n")})
    EXPECT_FALSE(parse_answer(text)) << text;
}

TEST(Ask, APeerThatIsNotThereSaysNothing) {
  const auto source = PeerSource::parse("127.0.0.1:1");
  ASSERT_TRUE(source);
  const std::vector<Address> addresses = source->addresses();
  ASSERT_EQ(addresses.size(), 1U);
  const std::vector<Question> questions{{addresses[0], "GET / HTTP/1.1\r\n\r\n"}};
  const auto answers = ask_all(PeerWire(), questions,
                               std::chrono::steady_clock::now() + std::chrono::minutes(1), 1000);
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_FALSE(answers[0]);
}

TEST(PeerSource, IsAListANameOrAFile) {
  for (const char* good :
       {"a:1", "a:1,b:2", "[::1]:80,10.0.0.1:8000", "dns:cells.default:8000", "file:/a b"})
    EXPECT_TRUE(PeerSource::parse(good)) << good;
  for (const char* bad : {"", "a", "a:", ":1", "a:1,,b:2", "a:b", "::1:80", "dns:", "dns:a",
                          "file:", "a b:1", "http://a:1", "a:123456"})
    EXPECT_FALSE(PeerSource::parse(bad)) << bad;
}

TEST(CellReport, IsReadAsItIsWritten) {
  const auto report = report_of_json(to_json({.key = 3,
                                              .keys = {3, 7},
                                              .sessions = 12,
                                              .ready = true,
                                              .headroom = 0.25,
                                              .rank = 8,
                                              .version = "1.2"}));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->key, 3);
  EXPECT_EQ(report->keys, (std::vector<CellKey>{3, 7}));
  EXPECT_EQ(report->sessions, 12U);
  EXPECT_TRUE(report->ready);
  EXPECT_EQ(report->headroom, 0.25);
  EXPECT_EQ(report->rank, 8U);
  EXPECT_EQ(report->version, "1.2");
  for (const char* text :
       {"", "[]", "{}", R"({"key":0,"ready":true,"headroom":1,"version":""})",
        R"({"key":"a","ready":true,"headroom":1,"version":""})",
        R"({"key":6e22,"ready":true,"headroom":1,"version":""})",
        R"({"key":66666333333333333333332,"ready":true,"headroom":1,"version":""})",
        R"({"key":65537,"ready":true,"headroom":1,"version":""})",
        R"({"key":1,"keys":[-1],"ready":true,"headroom":1,"version":""})",
        R"({"key":1,"sessions":1.5,"ready":true,"headroom":1,"version":""})",
        R"({"key":1,"rank":-1,"ready":true,"headroom":1,"version":""})"})
    EXPECT_FALSE(report_of_json(text)) << text;
}

TEST(Hop, LeavesOutWhatIsAboutTheClientsConnection) {
  const http::Request request{.method = "POST",
                              .target = "/v1/sessions/x/commands?a=b",
                              .fields = {{"Host", "h"},
                                         {"connection", "keep-alive"},
                                         {"Transfer-Encoding", "chunked"},
                                         {"x-cloche-hop", "forged"},
                                         {"Authorization", "Bearer t"}},
                              .body = "{}"};
  EXPECT_EQ(hop_text(request, request.target, "secret"),
            "POST /v1/sessions/x/commands?a=b HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n"
            "X-Cloche-Hop: secret\r\nX-Cloche-Hops: 1\r\nContent-Length: 2\r\nConnection: "
            "close\r\n\r\n{}");
}

TEST(Router, FindsTheSessionOfAPath) {
  EXPECT_EQ(session_of_path("/sessions/a"), "a");
  EXPECT_EQ(session_of_path("/sessions/a/files"), "a");
  EXPECT_EQ(session_of_path("a:22"), "a");
  EXPECT_EQ(session_of_path("/sessions"), "");
  EXPECT_EQ(session_of_path("/sessions/"), "");
  EXPECT_EQ(session_of_path("/"), "");
  EXPECT_EQ(session_of_path(""), "");
}

}  // namespace
}  // namespace cloche::cluster
