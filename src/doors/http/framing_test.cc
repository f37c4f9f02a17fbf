// SPDX-License-Identifier: Apache-2.0
#include "doors/http/framing.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::http {
namespace {

bool is_fine(Fields fields, unsigned version = 11) {
  Request head;
  head.fields = std::move(fields);
  return !framing_fault(head, version);
}

TEST(Framing, OneHost) {
  EXPECT_TRUE(is_fine({{"Host", "a"}}));
  EXPECT_TRUE(is_fine({{"host", ""}}));
  EXPECT_FALSE(is_fine({}));
  EXPECT_FALSE(is_fine({{"Host", "a"}, {"hOST", "a"}}));
  EXPECT_TRUE(is_fine({}, 10));
  EXPECT_FALSE(is_fine({{"Host", "a"}, {"Host", "b"}}, 10));
}

TEST(Framing, OneLength) {
  EXPECT_TRUE(is_fine({{"Host", "a"}, {"Content-Length", "12"}}));
  for (const char* length : {"", "-1", "+1", "1, 1", "0x1", "1 2", " 1"})
    EXPECT_FALSE(is_fine({{"Host", "a"}, {"Content-Length", length}})) << length;
  EXPECT_FALSE(is_fine({{"Host", "a"}, {"Content-Length", "1"}, {"content-length", "1"}}));
}

TEST(Framing, OnlyChunked) {
  EXPECT_TRUE(is_fine({{"Host", "a"}, {"Transfer-Encoding", "Chunked"}}));
  for (const char* coding :
       {"", "gzip", "gzip, chunked", "chunked, chunked", "xchunked", "identity"})
    EXPECT_FALSE(is_fine({{"Host", "a"}, {"Transfer-Encoding", coding}})) << coding;
  EXPECT_FALSE(
      is_fine({{"Host", "a"}, {"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}}));
  EXPECT_FALSE(is_fine({{"Host", "a"}, {"Transfer-Encoding", "chunked"}, {"Content-Length", "3"}}));
  EXPECT_FALSE(is_fine({{"Host", "a"}, {"Transfer-Encoding", "chunked"}}, 10));
}

TEST(Framing, AnAbsoluteTargetSaysWhoseItIs) {
  const auto made = [](std::string target) {
    Request head;
    head.target = std::move(target);
    head.fields = {{"Host", "other"}, {"A", "b"}};
    const auto fault = to_origin_form(head);
    return fault ? std::string("fault") : head.target + " of " + std::string(head.field("Host"));
  };
  EXPECT_EQ(made("http://name:80/a?b"), "/a?b of name:80");
  EXPECT_EQ(made("HTTPS://[::1]"), "/ of [::1]");
  EXPECT_EQ(made("http://name?b=/c"), "/?b=/c of name");
  for (const char* other : {"/a", "*", "name:80", "http", "ftp://name/a", "/http://name/a"})
    EXPECT_EQ(made(other), std::string(other) + " of other");
  for (const char* wrong : {"http://", "http:///a", "http://user@name/a"})
    EXPECT_EQ(made(wrong), "fault") << wrong;
}

TEST(Framing, ATargetIsAPath) {
  const auto is_path = [](std::string method, std::string target) {
    Request head;
    head.method = std::move(method);
    head.target = std::move(target);
    return !target_fault(head);
  };
  for (const char* target : {"/", "/a?b", "//a", "/http://name/a"})
    EXPECT_TRUE(is_path("GET", target)) << target;
  for (const char* target : {"", "*", "a", "?a", "http://name/a", "x:/a", "name:80"})
    EXPECT_FALSE(is_path("GET", target)) << target;
  EXPECT_TRUE(is_path("OPTIONS", "*"));
  EXPECT_FALSE(is_path("OPTIONS", "*/a"));
  EXPECT_TRUE(is_path("CONNECT", "name:80"));
  EXPECT_TRUE(is_path("CONNECT", ""));
}

TEST(Framing, FindsFoldsHoweverTheHeadIsCut) {
  const auto found = [](std::string_view head, std::size_t piece) {
    FoldFinder finder;
    for (std::size_t at = 0; at < head.size(); at += piece) finder.take(head.substr(at, piece));
    return finder.found();
  };
  for (std::size_t piece = 1; piece < 50; ++piece) {
    EXPECT_FALSE(found("GET / HTTP/1.1\r\nHost: a b\r\nA:\tb\r\n\r\n", piece));
    EXPECT_TRUE(found("GET / HTTP/1.1\r\nContent-Length:\r\n 5\r\n\r\n", piece));
    EXPECT_TRUE(found("GET / HTTP/1.1\r\nA: b\r\n\tc\r\n\r\n", piece));
  }
}

}  // namespace
}  // namespace cloche::http
