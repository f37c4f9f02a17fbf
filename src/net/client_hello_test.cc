// SPDX-License-Identifier: Apache-2.0
#include "net/client_hello.h"

#include <gtest/gtest.h>

#include <string>

namespace cloche::net {
namespace {

using namespace std::string_literals;

TEST(ClientHello, NamesOneHost) {
  EXPECT_EQ(read_server_name("\0\x0c\0\0\x09localhost"s), "localhost");
  EXPECT_EQ(read_server_name(""s), "");
  EXPECT_EQ(read_server_name("\0"s), "");
  EXPECT_EQ(read_server_name("\0\0"s), "");
  EXPECT_EQ(read_server_name("\0\x03\0\0\0"s), "");
  EXPECT_EQ(read_server_name("\0\x04\x01\0\x01x"s), "") << "another kind of name";
  EXPECT_EQ(read_server_name("\0\x04\0\0\x02x"s), "") << "longer than it is";
  EXPECT_EQ(read_server_name("\0\x05\0\0\x01xy"s), "") << "bytes after it";
  EXPECT_EQ(read_server_name("\0\x08\0\0\x01x\0\0\x01y"s), "") << "two names";
  EXPECT_EQ(read_server_name("\xff\xff\0\0\x01x"s), "");
}

TEST(ClientHello, OffersProtocols) {
  const std::string both = "\0\x0c\x02h2\x08http/1.1"s;
  EXPECT_TRUE(offers_protocol(both, "http/1.1"));
  EXPECT_TRUE(offers_protocol(both, "h2"));
  EXPECT_FALSE(offers_protocol(both, "http"));
  EXPECT_FALSE(offers_protocol("\0\x03\x02h2"s, "http/1.1"));
  EXPECT_FALSE(offers_protocol(""s, "h2"));
  EXPECT_FALSE(offers_protocol("\0\0"s, "h2"));
  EXPECT_FALSE(offers_protocol("\0\x04\x02h2\x09"s, "h2")) << "the end is cut off";
  EXPECT_FALSE(offers_protocol("\0\x04\x02h2\0"s, "h2")) << "an empty one";
  EXPECT_FALSE(offers_protocol("\0\x05\x02h2"s, "h2")) << "longer than it is";
}

}  // namespace
}  // namespace cloche::net
