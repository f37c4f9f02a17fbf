// SPDX-License-Identifier: Apache-2.0
#include "doors/http/field_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::http {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FieldWords, AreOfAllFieldsOfThatName) {
  const Fields fields{{"Connection", "keep-alive,\t Upgrade ,,"},
                      {"Other", "close"},
                      {"connection", "X"},
                      {"Empty", " , ,"}};
  EXPECT_THAT(field_words(fields, "CONNECTION"), ElementsAre("keep-alive", "Upgrade", "X"));
  EXPECT_THAT(field_words(fields, "Empty"), IsEmpty());
  EXPECT_THAT(field_words(fields, "Absent"), IsEmpty());
  EXPECT_TRUE(has_word(fields, "Connection", "upgrade"));
  EXPECT_TRUE(has_word(fields, "Connection", "x"));
  EXPECT_FALSE(has_word(fields, "Connection", "close"));
  EXPECT_FALSE(has_word(fields, "Connection", "keep"));
  EXPECT_FALSE(has_word(fields, "Connection", ""));
}

}  // namespace
}  // namespace cloche::http
