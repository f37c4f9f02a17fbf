// SPDX-License-Identifier: Apache-2.0
#include "doors/http/multipart.h"

#include <gtest/gtest.h>

namespace cloche::http {
namespace {

TEST(Multipart, Boundaries) {
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=abc"), "abc");
  EXPECT_EQ(multipart_boundary("Multipart/Form-Data; charset=x; boundary=\"a;b\""), "a;b");
  EXPECT_FALSE(multipart_boundary("multipart/form-data"));
  EXPECT_FALSE(multipart_boundary("multipart/form-data; boundary="));
  EXPECT_FALSE(multipart_boundary("text/plain; boundary=abc"));
}

std::string part(const std::string& disposition, const std::string& content) {
  return "--B\r\nContent-Disposition: form-data; " + disposition + "\r\nContent-Type: x\r\n\r\n" +
         content + "\r\n";
}

TEST(Multipart, TheNamedPartIsFound) {
  const std::string body = "preamble\r\n" + part("name=\"a\"", "1") +
                           part("name=\"file\"; filename=\"q\\\"x\"", "line\r\n--C\r\n") +
                           "--B--\r\n";
  const auto found = find_part(body, "B", "file");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->filename, "q\"x");
  EXPECT_EQ(found->content, "line\r\n--C\r\n");
  EXPECT_EQ(find_part(part("name=file", "") + "--B--", "B", "file")->content, "");
}

TEST(Multipart, WhatIsMalformedIsNotFound) {
  EXPECT_FALSE(find_part("", "B", "file"));
  EXPECT_FALSE(find_part("--B--\r\n", "B", "file"));
  EXPECT_FALSE(find_part(part("name=\"other\"", "1") + "--B--", "B", "file"));
  const std::string whole = part("name=\"file\"", "content") + "--B--\r\n";
  for (std::size_t size = 0; size + 7 < whole.size(); ++size)
    EXPECT_FALSE(find_part(whole.substr(0, size), "B", "file")) << size;
}

}  // namespace
}  // namespace cloche::http
