// SPDX-License-Identifier: Apache-2.0
#include "sandbox/options/sandbox_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cloche/error.h"

namespace cloche::sandbox {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

SandboxOptions with(std::string_view flag, const std::string& text) {
  SandboxOptions options;
  set_option(options, *find_option(flag), "--" + std::string(flag), text);
  return options;
}

std::string refusal(std::string_view flag, const std::string& text) {
  try {
    (void)with(flag, text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::request);
    return error.what();
  }
  return {};
}

TEST(SandboxOption, NamesAreThereOnceAtEachDoor) {
  std::set<std::string_view> flags, json, sdk;
  for (const SandboxOption& option : sandbox_options()) {
    if (!option.flag.empty()) {
      EXPECT_TRUE(flags.insert(option.flag).second) << option.flag;
    }
    if (!option.json.empty()) {
      EXPECT_TRUE(json.insert(option.json).second) << option.json;
    }
    if (!option.sdk.empty()) {
      EXPECT_TRUE(sdk.insert(option.sdk).second) << option.sdk;
    }
    EXPECT_FALSE(option.help.empty()) << option.member;
  }
}

TEST(SandboxOption, AmountsAreWrittenAsPeopleDo) {
  EXPECT_EQ(with("memory", "512m").memory_limit_bytes, 512U << 20);
  EXPECT_EQ(with("fs-limit", "2GiB").file_limit_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(with("timeout", "30s").timeout, milliseconds(30'000));
  EXPECT_EQ(with("timeout", "250").timeout, milliseconds(250));
  EXPECT_EQ(with("timeout", "0").timeout, milliseconds(0));
  EXPECT_EQ(with("timeout", "3650d").timeout, std::chrono::hours(24 * 3650));
  EXPECT_EQ(with("cpus", "5").cpus, 5U);
  EXPECT_EQ(with("net-bytes", "0").network.max_bytes, 0U);
}

TEST(SandboxOption, ListsAndPairs) {
  EXPECT_THAT(with("packages", "numpy,,pandas").packages, ElementsAre("numpy", "pandas"));
  EXPECT_THAT(with("net", "a.example:1,2").network.allow, ElementsAre("a.example:1,2"));
  EXPECT_EQ(with("env", "A=b=c").environment.at("A"), "b=c");
  const SandboxOptions options = with("mount", "/tmp:/data:ro");
  ASSERT_EQ(options.mounts.size(), 1U);
  EXPECT_EQ(options.mounts[0].guest_path, "/data");
  EXPECT_EQ(options.mounts[0].access, Mount::Access::read_only);
}

TEST(SandboxOption, WhatMakesNoSenseIsOneSentence) {
  for (const char* rules : {"net", "net-deny"})
    EXPECT_THAT(refusal(rules, "http://a.example/"), HasSubstr("'http://a.example/'"));
  EXPECT_THAT(refusal("memory", "0"), HasSubstr("--memory wants a number of bytes"));
  EXPECT_THAT(refusal("memory", "12X"), HasSubstr("not '12X'"));
  EXPECT_THAT(refusal("timeout", "-5"), HasSubstr("--timeout wants milliseconds"));
  for (const char* beyond : {"3651d", "315360000001", "9223372036854775807", "1000000d"})
    EXPECT_THAT(refusal("timeout", beyond), HasSubstr("milliseconds from 0 to 315360000000"));
  EXPECT_THAT(refusal("cpus", "0"), HasSubstr("a number from 1"));
  EXPECT_THAT(refusal("net-connections", "65536"), HasSubstr("to 65535"));
  EXPECT_THAT(refusal("env", "=x"), HasSubstr("NAME=VALUE"));
  EXPECT_THAT(refusal("mount", "/tmp:relative"), HasSubstr("HOST:GUEST"));
  EXPECT_THAT(refusal("mount", "/tmp:/data:RO"), HasSubstr("without a colon"));
  for (const char* nothing : {"/nonexistent:/x", "/dev/null:/x"})
    EXPECT_THAT(refusal("mount", nothing), HasSubstr("neither a folder nor a regular file"));
  EXPECT_THAT(refusal("wheels", "/nonexistent"), HasSubstr("is not a folder of this machine"));
  EXPECT_THAT(refusal("net-certificates", "/nonexistent"), HasSubstr("cannot read"));
}

TEST(SandboxOption, HelpHasEachFlagItsDefaultAndNoLongLine) {
  for (const std::string_view prefix : {"--", "--session-"}) {
    const std::string page = option_lines(prefix);
    for (const SandboxOption& option : sandbox_options()) {
      if (option.flag.empty()) continue;
      EXPECT_THAT(page, HasSubstr("  " + std::string(prefix) + std::string(option.flag) + " "));
    }
    for (std::size_t start = 0; start < page.size();) {
      const std::size_t end = page.find('\n', start);
      EXPECT_LE(end - start, 100U) << page.substr(start, end - start);
      start = end + 1;
    }
  }
  EXPECT_THAT(option_lines("--"), HasSubstr("memory of all its processes together (1G)"));
  EXPECT_THAT(option_lines("--"), HasSubstr("(30000)"));
}

}  // namespace
}  // namespace cloche::sandbox
