// SPDX-License-Identifier: Apache-2.0
#include "base/base64.h"

#include <gtest/gtest.h>

namespace cloche {
namespace {

TEST(Base64, KnownPairs) {
  const std::pair<const char*, const char*> pairs[] = {{"", ""},
                                                       {"f", "Zg=="},
                                                       {"fo", "Zm8="},
                                                       {"foo", "Zm9v"},
                                                       {"foob", "Zm9vYg=="},
                                                       {"fooba", "Zm9vYmE="},
                                                       {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : pairs) {
    EXPECT_EQ(to_base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  EXPECT_EQ(from_base64("Zg"), "f");
}

TEST(Base64, EveryByteThereAndBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  for (std::size_t cut = 0; cut < 4; ++cut) {
    EXPECT_EQ(from_base64(to_base64(bytes.substr(cut))), bytes.substr(cut));
  }
}

TEST(Base64, RefusesWhatIsNot) {
  for (const char* text : {"Z", "Zg=", "Zg===", "====", "Zm9v\n", "Zm 9", "Zm-_", "=Zg=", "Z=g="})
    EXPECT_FALSE(from_base64(text)) << text;
}

}  // namespace
}  // namespace cloche
