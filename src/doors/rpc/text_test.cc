#include "doors/rpc/text.h"

#include <gtest/gtest.h>

namespace cloche::rpc {
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

TEST(Utf8Cutter, SplitsNoCharacter) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Utf8Cutter cutter;
    const std::string first = cutter.take(text.substr(0, cut));
    EXPECT_TRUE(first.empty() || (static_cast<unsigned char>(text[first.size()]) & 0xc0) != 0x80);
    const std::string second = cutter.take(text.substr(cut));
    EXPECT_EQ(first + second + cutter.rest(), text) << cut;
    EXPECT_EQ(cutter.rest(), "");
  }
}

TEST(Utf8Cutter, KeepsBytesThatAreNoText) {
  const std::string bytes = "\xff\x80\x80\x80\x80\xc3(\xe2\x82\xf5\xf0";
  std::string all;
  Utf8Cutter cutter;
  for (const char byte : bytes) all += cutter.take({&byte, 1});
  EXPECT_EQ(all + cutter.rest(), bytes);
}

}  // namespace
}  // namespace cloche::rpc
