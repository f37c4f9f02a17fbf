// SPDX-License-Identifier: Apache-2.0
// What the words of a client's `scp` ask for. Transfers are tested with real clients, in tests/.
#include "doors/ssh/scp_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cloche::ssh {
namespace {

using ::testing::ElementsAre;
using Role = ScpOptions::Role;

TEST(ScpWords, ASinkHasOneTarget) {
  const auto options = parse_scp({"-t", "to/here"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->role, Role::sink);
  EXPECT_THAT(options->paths, ElementsAre("to/here"));
  EXPECT_FALSE(options->recursive || options->keep_times || options->into_folder);
  EXPECT_FALSE(parse_scp({"-t", "a", "b"}));
}

TEST(ScpWords, ASourceHasAsManyAsAreNamed) {
  const auto options = parse_scp({"-f", "a", "b c", "d"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->role, Role::source);
  EXPECT_THAT(options->paths, ElementsAre("a", "b c", "d"));
}

TEST(ScpWords, LettersStandTogetherOrAlone) {
  for (const auto& words : {std::vector<std::string>{"-rpdvt", "x"},
                            std::vector<std::string>{"-q", "-r", "-p", "-d", "-t", "x"}}) {
    const auto options = parse_scp(words);
    ASSERT_TRUE(options);
    EXPECT_EQ(options->role, Role::sink);
    EXPECT_TRUE(options->recursive && options->keep_times && options->into_folder);
  }
}

TEST(ScpWords, ADashMayBeginAPath) {
  const auto options = parse_scp({"-f", "--", "-r", "--"});
  ASSERT_TRUE(options);
  EXPECT_FALSE(options->recursive);
  EXPECT_THAT(options->paths, ElementsAre("-r", "--"));
  const auto dash = parse_scp({"-t", "-"});
  ASSERT_TRUE(dash);
  EXPECT_THAT(dash->paths, ElementsAre("-"));
}

TEST(ScpWords, WithoutARoleOrAPathTheyAskForNothing) {
  EXPECT_FALSE(parse_scp({}));
  EXPECT_FALSE(parse_scp({"a", "b"})) << "a client's own line is none of the far side's";
  EXPECT_FALSE(parse_scp({"-t"}));
  EXPECT_FALSE(parse_scp({"-f", "--"}));
  EXPECT_FALSE(parse_scp({"--", "-t", "a"})) << "-t is a path there";
}

TEST(ScpWords, OneCommandIsWhatAShellFindsNoOtherIn) {
  for (const char* one :
       {"scp -t a", "scp -f 'a b' c", "scp -t \"a b\"", "scp -t a\\;b", "scp -f ~/*.txt [a-c]?",
        "scp -t 'a;b'", "scp -t \"a;b|c\"", "scp -f '$(x)'", "scp -t $HOME/a", "scp -f \"it's\""})
    EXPECT_TRUE(is_one_command(one)) << one;
  for (const char* more :
       {"scp -t a; x", "scp -t a && x", "scp -t a & x", "scp -t a | x", "scp -t a >x", "scp -f <x",
        "scp -f <(x)", "(scp -t a)", "scp -t $(x)", "scp -t \"$(x)\"", "scp -t `x`",
        "scp -t \"`x`\"", "scp -t ${a:=x}", "scp -t a\nx", "scp -t $'a'", "scp -t 'a", "scp -t \"a",
        "scp -t 'a' 'b"})
    EXPECT_FALSE(is_one_command(more)) << more;
}

}  // namespace
}  // namespace cloche::ssh
