// SPDX-License-Identifier: Apache-2.0
#include "net/request_head.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::net {
namespace {

std::optional<RequestHead> read(const std::string& fields,
                                const std::string& line = "GET /a HTTP/1.1") {
  static std::string text;  // the head's views are into it
  text = line + "\r\n" + fields + "\r\n";
  return read_request_head(text);
}

TEST(RequestHead, SaysForWhomItIs) {
  EXPECT_EQ(read("Host: api.example.com\r\n")->host, "api.example.com");
  EXPECT_EQ(read("hOST:\tapi.example.com:443 \r\nA: b\r\n")->host, "api.example.com");
  EXPECT_EQ(read("Host: [::1]:80\r\n")->host, "[::1]");
  EXPECT_EQ(read("")->host, "");
  EXPECT_TRUE(read("")->is_origin_form);
  EXPECT_FALSE(read("", "GET http://evil/ HTTP/1.1")->is_origin_form);
  EXPECT_FALSE(read("", "GET //evil/ HTTP/1.2").has_value());
}

TEST(RequestHead, SaysWhereItEnds) {
  EXPECT_EQ(read("")->ending, Ending::none);
  EXPECT_EQ(read("Content-Length: 0\r\n")->ending, Ending::none);
  EXPECT_EQ(read("Content-Length: 12\r\n")->ending, Ending::length);
  EXPECT_EQ(read("Content-Length: 12\r\n")->length, 12U);
  EXPECT_EQ(read("Transfer-Encoding: Chunked\r\n")->ending, Ending::chunked);
  EXPECT_EQ(read("Upgrade: websocket\r\n")->ending, Ending::never);
  EXPECT_EQ(read("Content-Length: 5\r\n", "CONNECT a:1 HTTP/1.1")->ending, Ending::never);
}

TEST(RequestHead, IsNoneWhereTwoCouldDisagree) {
  for (const std::string fields : {"Host: a\r\nHost: a\r\n",
                                   "Host: a\r\nhost: b\r\n",
                                   "Host: a\r\n b\r\n",
                                   " Host: a\r\n",
                                   "Host : a\r\n",
                                   "Host: a\nHost: b\r\n",
                                   "X: a\rHost: b\r\n",
                                   "Host: a/b\r\n",
                                   "Host: a@b\r\n",
                                   "Host: a b\r\n",
                                   "Host: a:x\r\n",
                                   "Host: a,b@c\r\n",
                                   "X\r\n",
                                   ": x\r\n",
                                   "Content-Length: 5\r\nContent-Length: 5\r\n",
                                   "Content-Length: +5\r\n",
                                   "Content-Length:\r\n",
                                   "Content-Length: 5, 5\r\n",
                                   "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                                   "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
                                   "Transfer-Encoding: gzip, chunked\r\n",
                                   "Transfer-Encoding: xchunked\r\n",
                                   "Transfer-Encoding:\r\n chunked\r\n",
                                   "X: \x01\r\n"})
    EXPECT_FALSE(read(fields)) << fields;
  for (const std::string line :
       {"GET /", "GET / HTTP/1.1 ", "GET  / HTTP/1.1", "GET / x HTTP/1.1", "GET / HTTP/2.0",
        "GET /\t HTTP/1.1", "G(T / HTTP/1.1", " GET / HTTP/1.1", "GET\t/ HTTP/1.1"})
    EXPECT_FALSE(read("", line)) << line;
  EXPECT_FALSE(read("Transfer-Encoding: chunked\r\n", "GET / HTTP/1.0"));
  EXPECT_FALSE(read_request_head("GET / HTTP/1.1\r\n"));
  EXPECT_FALSE(read_request_head("\r\n"));
}

TEST(RequestHead, ChunkSizes) {
  EXPECT_EQ(read_chunk_size("1f"), 0x1fU);
  EXPECT_EQ(read_chunk_size("0;x=y"), 0U);
  for (const char* line : {"", ";x", "x", "5 ", "0x5", "-1", "5\n", "ffffffffffffffffff"})
    EXPECT_FALSE(read_chunk_size(line)) << line;
}

}  // namespace
}  // namespace cloche::net
