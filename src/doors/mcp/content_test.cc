// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/content.h"

#include <gtest/gtest.h>

namespace cloche::mcp {
namespace {

TEST(McpAddress, IsReadAsItIsWritten) {
  const std::string path = "/workspace/a b/\u00e4%?#.txt";
  const std::string uri = address_of("default", path);
  EXPECT_EQ(uri, "sandbox://default/workspace/a%20b/%C3%A4%25%3F%23.txt");
  const auto read = read_address(uri);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->sandbox, "default");
  EXPECT_EQ(read->path, path);
}

TEST(McpAddress, OfAnythingElseIsNone) {
  for (const char* uri : {"", "file:///etc/passwd", "sandbox://default", "sandbox://../x/y",
                          "sandbox:///x", "sandbox://default/..", "sandbox://default/a/../b",
                          "sandbox://default/%2e%2e/b", "sandbox://default/a/./b",
                          "sandbox://default/%00", "sandbox://default/%ff", "sandbox://DEFAULT/x"})
    EXPECT_FALSE(read_address(uri)) << uri;
}

TEST(McpContent, TypesGoByContentAndName) {
  EXPECT_EQ(mime_type("a.py", "print(1)"), "text/x-python");
  EXPECT_EQ(mime_type("a", "text"), "text/plain");
  EXPECT_EQ(mime_type("a.txt", std::string_view("\0", 1)), "application/octet-stream");
  EXPECT_EQ(mime_type("a.txt", "\x89PNG\r\n\x1a\n..."), "image/png");
  EXPECT_EQ(mime_type("a.png", "no picture"), "text/plain");
  EXPECT_EQ(mime_type("a.SVG", "<svg/>"), "image/svg+xml");
  EXPECT_EQ(mime_type("a.zip", std::string_view("PK\0", 3)), "application/zip");
}

TEST(McpContent, TextMayBeCutInACharacterOnlyAtTheEnd) {
  EXPECT_TRUE(is_text("\u00e4"));
  EXPECT_TRUE(is_text("abc\xe2\x82"));
  EXPECT_FALSE(is_text("abc\xe2\x82 abc"));
  EXPECT_FALSE(is_text("\xff"));
  EXPECT_FALSE(is_text(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace cloche::mcp
