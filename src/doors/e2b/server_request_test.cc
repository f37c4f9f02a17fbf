// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/server_request.h"

#include <gtest/gtest.h>

namespace cloche::e2b {
namespace {

http::Request request_of(http::Fields fields, std::string method = "GET") {
  http::Request request;
  request.method = std::move(method);
  request.target = "/a?b=c";
  request.fields = std::move(fields);
  return request;
}

TEST(ServerRequest, HasWhatTheClientSaidAndIsTheLastOfItsConnection) {
  EXPECT_EQ(
      request_for_server(request_of({{"Host", "8080-x.y"}, {"X-Own", "1"}, {"x-own", "2"}}))->text,
      "GET /a?b=c HTTP/1.1\r\nHost: 8080-x.y\r\nX-Own: 1\r\nx-own: 2\r\n"
      "Connection: close\r\n\r\n");
}

TEST(ServerRequest, TheHostIsSpeltAsProxiesDo) {
  EXPECT_EQ(request_for_server(request_of({{"host", "8080-x.y"}}))->text,
            "GET /a?b=c HTTP/1.1\r\nHost: 8080-x.y\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(request_for_server(request_of({{"host", "8080-x.y"}}), "own:8080")->text,
            "GET /a?b=c HTTP/1.1\r\nHost: own:8080\r\nConnection: close\r\n\r\n");
}

TEST(ServerRequest, TheBodyIsFramedAsTheClientFramesIt) {
  const auto chunked =
      request_for_server(request_of({{"Host", "h"}, {"Transfer-Encoding", "chunked"}}, "POST"));
  EXPECT_EQ(chunked->text,
            "POST /a?b=c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n"
            "Connection: close\r\n\r\n");
  EXPECT_FALSE(chunked->body.is_done());
  EXPECT_FALSE(chunked->wants_continue);
  const auto measured = request_for_server(
      request_of({{"Host", "h"}, {"Content-Length", "07"}, {"Expect", "100-Continue"}}, "POST"));
  EXPECT_EQ(measured->text,
            "POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\nConnection: close\r\n\r\n");
  EXPECT_FALSE(measured->body.is_done());
  EXPECT_TRUE(measured->wants_continue);
  const auto empty = request_for_server(
      request_of({{"Host", "h"}, {"Content-Length", "0"}, {"Expect", "100-continue"}}, "POST"));
  EXPECT_EQ(empty->text,
            "POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(empty->body.is_done());
  EXPECT_FALSE(empty->wants_continue);
  EXPECT_FALSE(request_for_server(
      request_of({{"Host", "h"}, {"Content-Length", "99999999999999999999"}}, "POST")));
}

TEST(ServerRequest, WhatIsOfThisDoorOrThisHopStaysHere) {
  EXPECT_EQ(request_for_server(request_of({{"Host", "h"},
                                           {"e2b-sandbox-id", "x"},
                                           {"E2b-Sandbox-Port", "1"},
                                           {"e2b-traffic-access-token", "secret"},
                                           {"Connection", "keep-alive, X-Hop"},
                                           {"X-Hop", "1"},
                                           {"Upgrade", "h2c"}}))
                ->text,
            "GET /a?b=c HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
}

TEST(ServerRequest, AWebSocketIsAskedFor) {
  const auto asked = request_for_server(
      request_of({{"Host", "h"}, {"Connection", "keep-alive, Upgrade"}, {"Upgrade", "WebSocket"}}));
  EXPECT_TRUE(asked->asks_for_web_socket);
  EXPECT_EQ(asked->text,
            "GET /a?b=c HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_FALSE(request_for_server(request_of({{"Host", "h"}, {"Upgrade", "websocket"}}))
                   ->asks_for_web_socket);
}

TEST(ServerRequest, ATargetIsAPath) {
  http::Request request = request_of({{"Host", "h"}});
  request.target = "http://elsewhere/";
  EXPECT_FALSE(request_for_server(request));
}

}  // namespace
}  // namespace cloche::e2b
