// SPDX-License-Identifier: Apache-2.0
#include "sandbox/clean_output.h"

#include <gtest/gtest.h>

namespace cloche::sandbox {
namespace {

CleanOutput with_secret() {
  auto secrets = std::make_shared<net::SecretStore>(
      std::map<std::string, Secret>{{"KEY", {.value = "swordfish", .hosts = {"a.example"}}}});
  return CleanOutput(std::make_shared<net::StreamScrubber>(std::move(secrets)));
}

TEST(CleanOutput, PassesOnWhatHoldsNoSecret) {
  for (const CleanOutput& output : {CleanOutput(), with_secret()}) {
    std::string got;
    const CleanOutput::Reader reader = [&](std::string_view text) {
      EXPECT_FALSE(text.empty());
      got += text;
    };
    for (const std::string_view piece : {"one ", "", "two"}) output.pass(piece, reader);
    output.end(reader);
    EXPECT_EQ(got, "one two");
  }
}

TEST(CleanOutput, ASecretInPiecesIsNotShown) {
  const CleanOutput output = with_secret();
  std::string got;
  const CleanOutput::Reader reader = [&](std::string_view text) { got += text; };
  for (const std::string_view piece : {"it is sw", "ordf", "ish."}) output.pass(piece, reader);
  output.end(reader);
  EXPECT_EQ(got.find("fish"), std::string::npos) << got;
  EXPECT_TRUE(got.starts_with("it is ") && got.ends_with(".")) << got;
}

TEST(CleanOutput, AKeptTextThatWasCutOffDoesNotEndInASecret) {
  EXPECT_EQ(with_secret().clean("it is swordf", CleanOutput::Text::cut_off), "it is ");
  EXPECT_EQ(with_secret().clean("it is swordf", CleanOutput::Text::whole), "it is swordf");
  EXPECT_EQ(CleanOutput().clean("it is swordf", CleanOutput::Text::cut_off), "it is swordf");
}

}  // namespace
}  // namespace cloche::sandbox
