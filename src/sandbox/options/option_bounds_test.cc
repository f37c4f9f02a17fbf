// SPDX-License-Identifier: Apache-2.0
#include "sandbox/options/option_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.h"
#include "base/temp_dir_testing.h"
#include "sandbox/options/option_json.h"

namespace cloche::sandbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OptionBounds : public ::testing::Test {
 protected:
  void grant(std::string_view flag, const std::string& text) {
    grants_.push_back(grant_of(*find_option(flag), "--allow-session-" + std::string(flag), text));
  }
  SandboxOptions within(std::string_view wish, Beyond beyond = Beyond::refused) const {
    return options_within(usual_, grants_, Json::parse(wish), beyond);
  }
  // The sentence of a wish that is not to be had.
  std::string refusal(std::string_view wish, Beyond beyond = Beyond::refused) const {
    try {
      (void)within(wish, beyond);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::request);
      EXPECT_EQ(error.code(), Errno::acces) << error.what();
      return error.what();
    }
    return "nothing";
  }
  std::string fault(std::string_view wish) const {
    try {
      (void)within(wish);
    } catch (const WrongMember& wrong) {
      return wrong.what();
    }
    return "nothing";
  }

  SandboxOptions usual_;
  std::vector<Grant> grants_;
};

TEST_F(OptionBounds, AmountsAreAsMuchAsIsUsualOrLess) {
  usual_.memory_limit_bytes = 1 << 20;
  EXPECT_EQ(within("{}").memory_limit_bytes, 1U << 20);
  EXPECT_EQ(within(R"({"limits":{"memoryBytes":"512K"}})").memory_limit_bytes, 512U << 10);
  EXPECT_EQ(within(R"({"limits":{"memoryBytes":1048576}})").memory_limit_bytes, 1U << 20);
  EXPECT_THAT(refusal(R"({"limits":{"memoryBytes":"2M"}})"),
              HasSubstr("'limits.memoryBytes' may be 1048576 here at most, not 2097152"));
  EXPECT_THAT(refusal(R"({"limits":{"memoryBytes":"2M"}})"), HasSubstr("--allow-session-memory"));
  EXPECT_THAT(refusal(R"({"limits":{"cpus":4}})"), HasSubstr("at most"));
  EXPECT_THAT(refusal(R"({"network":{"maxConnections":129}})"), HasSubstr("at most"));
}

TEST_F(OptionBounds, GrantsRaiseWhatThereMayBe) {
  usual_.memory_limit_bytes = 1 << 20;
  grant("memory", "1G");
  grant("memory", "2M");
  EXPECT_EQ(within("{}").memory_limit_bytes, 1U << 20);
  EXPECT_EQ(within(R"({"limits":{"memoryBytes":"1G"}})").memory_limit_bytes, 1U << 30);
  EXPECT_THAT(refusal(R"({"limits":{"memoryBytes":"2G"}})"), HasSubstr("1073741824"));
  // A grant of one thing grants nothing else.
  EXPECT_THAT(refusal(R"({"limits":{"processes":65}})"), HasSubstr("64 here at most"));
}

TEST_F(OptionBounds, NoLimitIsMoreThanAnyLimit) {
  EXPECT_EQ(within(R"({"network":{"maxBytes":1}})").network.max_bytes, 1U);
  usual_.network.max_bytes = 1000;
  EXPECT_EQ(within(R"({"network":{"maxBytes":999}})").network.max_bytes, 999U);
  EXPECT_THAT(refusal(R"({"network":{"maxBytes":0}})"), HasSubstr("not 0 (no limit)"));
  grant("net-bytes", "0");
  EXPECT_EQ(within(R"({"network":{"maxBytes":0}})").network.max_bytes, 0U);
}

TEST_F(OptionBounds, TheNetworkOpensAsFarAsRulesCoverIt) {
  usual_.network.allow = {"*.example.com"};
  usual_.network.deny = {"bad.example.com"};
  grant("net", "10.0.0.0/8:443");
  EXPECT_THAT(within("{}").network.allow, ElementsAre("*.example.com"));
  EXPECT_THAT(within(R"({"network":false})").network.allow, IsEmpty());
  const SandboxOptions made =
      within(R"({"network":{"allow":["a.example.com:80","10.1.0.0/16:443"],"deny":["x.org"]}})");
  EXPECT_THAT(made.network.allow, ElementsAre("a.example.com:80", "10.1.0.0/16:443"));
  EXPECT_THAT(made.network.deny, ElementsAre("bad.example.com", "x.org"));
  for (const char* rule : {"example.org", "10.1.0.0/16", "10.0.0.0/7:443", "localhost", "*"}) {
    const std::string wish = R"({"network":[")" + std::string(rule) + R"("]})";
    EXPECT_THAT(refusal(wish),
                HasSubstr("'network.allow' may not be the rule " + std::string(rule)));
    EXPECT_THAT(within(wish, Beyond::cut).network.allow, IsEmpty());
  }
  EXPECT_THROW((void)within(R"({"network":["no rule"]})"), Error);
  EXPECT_THROW((void)within(R"({"network":{"deny":["no rule"]}})"), Error);
}

TEST_F(OptionBounds, FoldersAreThoseThatTheOperatorHasNamed) {
  const TempDir folder;
  const std::string path = folder.path().string();
  grant("mount", path + ":/data:ro");
  const auto wish = [&](const std::string& host, const std::string& guest, bool read_only) {
    return R"({"mounts":[{"host":")" + host + R"(","guest":")" + guest + R"(","readOnly":)" +
           (read_only ? "true" : "false") + "}]}";
  };
  EXPECT_THAT(within("{}").mounts, IsEmpty());
  for (const std::string& spelling : {path, path + "/", path + "/./x/.."}) {
    const SandboxOptions made = within(wish(spelling, "/data", true));
    ASSERT_EQ(made.mounts.size(), 1U);
    EXPECT_EQ(made.mounts[0].host_path, path);
    EXPECT_EQ(made.mounts[0].access, Mount::Access::read_only);
  }
  EXPECT_THAT(refusal(wish(path, "/data", false)), HasSubstr("to write to"));
  EXPECT_THAT(refusal(wish(path, "/usr", true)), HasSubstr("'mounts' may not be"));
  EXPECT_THAT(refusal(wish(path + "/..", "/data", true)), HasSubstr("'mounts' may not be"));
  EXPECT_THAT(refusal(wish(path + "/x", "/data", true)), HasSubstr("'mounts' may not be"));
  EXPECT_THAT(refusal(wish(path, "/usr", true), Beyond::amounts_cut), HasSubstr("'mounts'"));
  EXPECT_THAT(within(wish(path, "/usr", true), Beyond::cut).mounts, IsEmpty());
}

TEST_F(OptionBounds, AMountThatEachSessionHasMayBeReadOnly) {
  const TempDir folder;
  const std::string path = folder.path().string();
  usual_.mounts = {{path, "/data", Mount::Access::read_write}};
  const SandboxOptions made =
      within(R"({"mounts":[{"host":")" + path + R"(","guest":"/data","readOnly":true}]})");
  ASSERT_EQ(made.mounts.size(), 1U);
  EXPECT_EQ(made.mounts[0].access, Mount::Access::read_only);
}

TEST_F(OptionBounds, ImagesProgramsAndEnginesAreChosen) {
  const TempDir folder;
  usual_.image = "usual.image";
  grant("image", "other.image");
  grant("wasm-dir", folder.path().string());
  EXPECT_EQ(within("{}").image, "usual.image");
  EXPECT_EQ(within(R"({"image":"./other.image"})").image, "other.image");
  EXPECT_EQ(within(R"({"wasmDir":")" + folder.path().string() + R"("})").program_folder,
            folder.path());
  EXPECT_THAT(refusal(R"({"image":"/etc/passwd"})"), HasSubstr("'image' may not be /etc/passwd"));
  EXPECT_THAT(refusal(R"({"wasmDir":"/"})"), HasSubstr("--allow-session-wasm-dir"));
  EXPECT_EQ(within(R"({"image":"/etc/passwd"})", Beyond::cut).image, "usual.image");
  EXPECT_THAT(refusal(R"({"engine":"linux"})"), HasSubstr("'engine' may not be linux"));
  grant("engine", "linux");
  EXPECT_EQ(within(R"({"engine":"linux"})").engine, EngineKind::native_linux);
  usual_.isolation = Isolation::gvisor;
  EXPECT_THAT(refusal(R"({"isolation":"full"})"), HasSubstr("'isolation' may not be full"));
  try {
    (void)within(R"({"isolation":"contained"})");
    ADD_FAILURE() << "there is no such isolation";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errno::inval);
    EXPECT_THAT(error.what(), HasSubstr("isolation wants full or gvisor"));
  }
  EXPECT_EQ(within(R"({"isolation":"gvisor"})").isolation, Isolation::gvisor);
}

TEST_F(OptionBounds, WhatConcernsTheSandboxAloneIsFree) {
  usual_.environment = {{"A", "1"}, {"B", "2"}};
  usual_.timeout = std::chrono::seconds(1);
  const SandboxOptions made = within(
      R"({"env":{"A":"x"},"packages":["numpy"],"user":"me","timeoutMs":"1h",
          "network":{"secrets":{"KEY":{"value":"v","hosts":["a.example"]}}}})");
  EXPECT_EQ(made.environment.at("A"), "x");
  EXPECT_EQ(made.environment.at("B"), "2");
  EXPECT_THAT(made.packages, ElementsAre("numpy"));
  EXPECT_EQ(made.user, "me");
  EXPECT_EQ(made.timeout, std::chrono::hours(1));
  EXPECT_EQ(made.network.secrets.at("KEY").value, "v");
  for (const std::string_view flag : {"env", "packages", "user", "timeout", "net-deny"})
    EXPECT_THROW(grant(flag, "1"), Error) << flag;
  EXPECT_THROW(grant("net", "no rule"), Error);
}

TEST_F(OptionBounds, WhatIsCutIsAmountsOrAll) {
  EXPECT_EQ(within(R"({"limits":{"cpus":400}})", Beyond::amounts_cut).cpus, usual_.cpus);
  EXPECT_EQ(within(R"({"limits":{"cpus":400}})", Beyond::cut).cpus, usual_.cpus);
  EXPECT_THAT(refusal(R"({"network":["*"]})", Beyond::amounts_cut), HasSubstr("may not be"));
}

TEST_F(OptionBounds, FaultsAreSaidByName) {
  EXPECT_EQ(fault(R"({"memory":1})").substr(0, 41), "there is no option 'memory': there is eng");
  EXPECT_THAT(fault(R"({"limits":{"memory":1}})"),
              HasSubstr("there is no option 'limits.memory': there is memoryBytes, cpus"));
  EXPECT_THAT(fault(R"({"network":{"rules":[]}})"), HasSubstr("'network.rules'"));
  EXPECT_THAT(fault(R"({"mounts":[{"host":"/a","guest":"/b","readonly":true}]})"),
              HasSubstr("there is no option 'mounts.readonly': there is host, guest, readOnly"));
  EXPECT_THAT(fault(R"({"network":{"secrets":{"A":{"value":"v","hosts":[],"host":"h"}}}})"),
              HasSubstr("'network.secrets.host'"));
  EXPECT_THAT(fault(R"({"limits":{"memoryBytes":"1X"}})"),
              HasSubstr("'limits.memoryBytes' must be a number of bytes, or a text such as"));
  EXPECT_THAT(fault(R"({"limits":{"memoryBytes":0}})"), HasSubstr("that is 1 or more"));
  EXPECT_THAT(fault(R"({"limits":{"cpus":0}})"),
              HasSubstr("'limits.cpus' must be a number from 1"));
  EXPECT_THAT(fault(R"({"limits":{"cpus":-1}})"), HasSubstr("a number from 1 to 4294967295"));
  EXPECT_THAT(fault(R"({"limits":[]})"), HasSubstr("'limits' must be an object"));
  EXPECT_THAT(fault(R"({"network":true})"), HasSubstr("'network' must be false, a list"));
  EXPECT_THAT(fault(R"({"timeoutMs":"soon"})"), HasSubstr("'timeoutMs' must be milliseconds"));
  EXPECT_THAT(fault(R"({"env":{"A=B":"1"}})"), HasSubstr("without '='"));
  EXPECT_THAT(fault(R"({"env":{"A":1}})"), HasSubstr("'env' must be"));
  EXPECT_THAT(fault(R"({"packages":"numpy"})"), HasSubstr("'packages' must be an array"));
  EXPECT_THAT(fault(R"({"mounts":[{"guest":"/x"}]})"), HasSubstr("'mounts.host' is missing"));
  EXPECT_THAT(fault(R"({"network":{"secrets":{"A":"v"}}})"), HasSubstr("{value, hosts}"));
}

TEST_F(OptionBounds, WhatIsCutMayHaveOtherMembers) {
  constexpr std::string_view at_top = R"({"other":1})", within_one = R"({"network":{"other":1}})";
  (void)within(at_top, Beyond::amounts_cut);
  (void)within(at_top, Beyond::cut);
  (void)within(within_one, Beyond::cut);
  EXPECT_THROW((void)within(within_one, Beyond::amounts_cut), WrongMember);
}

TEST(OptionMembers, AreThoseThatAreOptions) {
  const Json given = Json::parse(R"({"ttl":60,"limits":{"cpus":1},"env":{},"metadata":{}})");
  EXPECT_EQ(option_members(given), Json::parse(R"({"limits":{"cpus":1},"env":{}})"));
  EXPECT_TRUE(option_members(Json()).empty());
}

}  // namespace
}  // namespace cloche::sandbox
