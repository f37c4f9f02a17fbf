// SPDX-License-Identifier: Apache-2.0
// States: all of a sandbox's files as bytes, and a sandbox made of them again.
#include <gmock/gmock.h>

#include <cstring>
#include <memory>
#include <random>
#include <regex>
#include <string>

#include "base/sha256.h"
#include "cloche/archive.h"
#include "engines_testing.h"

namespace cloche::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::uint64_t room = std::uint64_t{1} << 30;

class States : public OnEachEngine {
 protected:
  static std::string said(Sandbox& sandbox, std::string script, Account account = Account::user) {
    RunOptions options;
    options.script = std::move(script);
    options.account = account;
    const RunResult result = sandbox.run(options);
    EXPECT_EQ(result.exit_code, 0) << result.stderr_data << result.reason;
    return result.stdout_data;
  }
  static std::string state_of(Sandbox& sandbox) {
    auto state = export_state(sandbox, room);
    EXPECT_TRUE(state) << state.error().sentence();
    return state ? *std::move(state) : std::string();
  }
  std::unique_ptr<Sandbox> sandbox_of(const std::string& state, SandboxOptions options = {}) const {
    auto made = import_state(engine(), of_engine(std::move(options)), state);
    EXPECT_TRUE(made) << made.error().sentence();
    return made ? *std::move(made) : nullptr;
  }
  std::string refusal(const std::string& state, SandboxOptions options = {}) const {
    const auto made = import_state(engine(), of_engine(std::move(options)), state);
    return made ? "it was taken" : std::string(made.error().sentence());
  }
};

constexpr const char* many_kinds = R"sh(
mkdir -p deep/er 'odd name' empty
printf text >deep/er/f; chmod 640 deep/er/f; touch -d '2001-02-03 04:05:06' deep/er/f
ln deep/er/f 'odd name/again'; ln -s ../deep/er/f empty/link; mkfifo pipe; chmod 600 pipe
printf x >sparse; dd if=/dev/zero of=sparse bs=1 count=1 seek=50000000 2>/dev/null
head -c 3000000 /dev/urandom >large; printf '' >nothing
name=$(printf 'line\nfeed'); printf 'a\nb' >"$name"; printf secret >closed; chmod 000 closed
mkdir shut; printf y >shut/f; chmod 500 shut; touch -d '2010-01-01' deep
)sh";
constexpr const char* what_they_are = R"sh(
find . ! -name . | sort | while read -r f; do stat -c '%n %F %a %h %s %Y' "$f" 2>/dev/null; done
cat deep/er/f 'odd name/again' empty/link; cat large sparse | cksum 2>/dev/null; cat "$(printf 'line\nfeed')"
echo $WORD
)sh";

TEST_P(States, HaveAllFilesAsTheyWere) {
  const auto sandbox = make_sandbox({.environment = {{"WORD", "kept"}}});
  said(*sandbox, many_kinds);
  ASSERT_TRUE(sandbox->files().set_attribute("deep/er/f", "user.word", "value"));
  ASSERT_TRUE(sandbox->files().set_attribute("empty", "user.of.folder", ""));
  const std::string before = said(*sandbox, what_they_are);
  EXPECT_THAT(before, HasSubstr("texttexttext"));
  EXPECT_THAT(before, HasSubstr("kept"));
  const auto again = sandbox_of(state_of(*sandbox));
  ASSERT_TRUE(again);
  EXPECT_EQ(said(*again, what_they_are), before);
  const auto large = sandbox->files().read("large", room), its = again->files().read("large", room);
  ASSERT_TRUE(large && its);
  for (const char* path : {"deep/er/f", "odd name/again", "empty"})
    EXPECT_EQ(*again->files().attributes(path), *sandbox->files().attributes(path)) << path;
  EXPECT_TRUE(*large == *its);
  // One file by two names, and a hole that takes no room.
  EXPECT_EQ(said(*again, "printf more >>deep/er/f; cat 'odd name/again'"), "textmore");
  const auto use = again->usage();
  EXPECT_LT(use.file_bytes, 20'000'000U);
  // And once more, of what came out of a state.
  const auto third = sandbox_of(state_of(*again));
  ASSERT_TRUE(third);
  EXPECT_EQ(said(*third, "cat 'odd name/again'; stat -c %a deep/er/f"), "textmore640\n");
}

// A file that so many hundreds of folders lead to, each with a link beside it.
std::string deep_tree(int hundreds) {
  return "p=$(printf 'd/%.0s' {1..100}); mkdir t; echo end >t/f; for i in {1.." +
         std::to_string(hundreds) + "}; do mkdir -p n/$p; ln -s t n/l; mv t n/$p; mv n t; done";
}
std::string end_of_deep_tree(int hundreds) {
  return "cat t/$(for i in {1.." + std::to_string(hundreds) +
         "}; do printf 'd/%.0s' {1..100}; printf t/; done)f";
}

// As deep as a path may be long.
TEST_P(States, OfDeepFoldersAreWhole) {
  constexpr int hundreds = 19;
  const auto sandbox = make_sandbox();
  said(*sandbox, deep_tree(hundreds));
  const auto again = sandbox_of(state_of(*sandbox)), fork = sandbox->fork();
  ASSERT_TRUE(again && fork);
  for (Sandbox* one : {sandbox.get(), again.get(), fork.get()}) {
    EXPECT_EQ(said(*one, end_of_deep_tree(hundreds)), "end\n");
    EXPECT_TRUE(one->files().remove_all("t").ok());
    EXPECT_EQ(said(*one, "ls"), "");
  }
}

// A guest can make deeper ones, step by step.
TEST_P(States, OfWhatIsTooDeepAreErrorsAndTheSandboxGoesOn) {
  constexpr int hundreds = 40;
  const auto sandbox = make_sandbox();
  said(*sandbox, deep_tree(hundreds));
  const auto state = export_state(*sandbox, room);
  EXPECT_TRUE(state || state.error().code() == Errno::nametoolong) << state.error().sentence();
  if (const auto removed = sandbox->files().remove_all("t"); !removed) {
    EXPECT_EQ(removed.error(), Errno::nametoolong);
  }
  try {
    EXPECT_EQ(said(*sandbox->fork(), "echo is a fork"), "is a fork\n");
  } catch (const Error& problem) {
    EXPECT_THAT(problem.what(), HasSubstr("File name too long"));
  }
  EXPECT_EQ(said(*sandbox, "rm -rf t; ls"), "");
}

TEST_P(States, KnowWhatOfTheSystemIsGone) {
  if (!is_linux()) GTEST_SKIP() << "a state has what a user may change";
  const auto sandbox = make_sandbox();
  said(*sandbox,
       "rm /etc/group; echo changed >>/etc/passwd; rm -r /var/tmp; mkdir /var/tmp; echo x "
       ">/var/tmp/new; mkdir /usr/bin/sub; mv /usr/bin/seq /usr/bin/sub/counted; rm -rf /opt; "
       "ln -s /tmp /opt; echo here >/opt/there");
  const auto again = sandbox_of(state_of(*sandbox));
  ASSERT_TRUE(again);
  EXPECT_EQ(said(*again,
                 "ls /etc/group 2>&1 | grep -c 'No such'; tail -1 /etc/passwd; ls /var/tmp; "
                 "/usr/bin/sub/counted 2; command -v seq; readlink /opt; cat /opt/there"),
            "1\nchanged\nnew\n1\n2\n/tmp\nhere\n");
}

TEST_P(States, AreTakenWhileProgramsRunWhichGoOn) {
  const auto sandbox = make_sandbox();
  LiveRunOptions options;
  options.command.script = "echo begun; i=0; while :; do i=$((i+1)); echo $i >count; done";
  options.command.timeout = std::chrono::minutes(5);
  const auto busy = sandbox->start(std::move(options));
  std::string state;
  for (int i = 0; i < 5; ++i) state = state_of(*sandbox);
  const auto again = sandbox_of(state);
  ASSERT_TRUE(again);
  EXPECT_EQ(said(*again, "ls -d /workspace"), "/workspace\n");
  const std::string first = said(*sandbox, "cat count; while [ ! -s count ]; do :; done");
  EXPECT_EQ(said(*sandbox, "for i in 1 2 3 4 5 6 7 8 9; do [ \"$(cat count)\" != '" +
                               first.substr(0, first.size() - 1) +
                               "' ] && break; sleep 0.2; done; echo went"),
            "went\n");
  busy->kill();
}

// Nor does a fork let it go on.
TEST_P(States, OfASandboxThatIsPausedLeaveItSo) {
  if (!is_linux()) GTEST_SKIP() << "there a state stops nothing";
  const auto sandbox = make_sandbox();
  LiveRunOptions options;
  options.command.script = "echo begun; while :; do :; done";
  options.command.timeout = std::chrono::minutes(5);
  const auto busy = sandbox->start(std::move(options));
  ASSERT_GT(busy->pid(), 0);
  sandbox->freeze();
  EXPECT_NE(state_of(*sandbox), "");
  (void)sandbox->fork();
  const std::vector<ProcessInfo> all = sandbox->processes();
  EXPECT_FALSE(all.empty());
  for (const ProcessInfo& one : all) EXPECT_EQ(one.state, 'T') << one.command;
  sandbox->thaw();
  EXPECT_EQ(said(*sandbox, "echo on"), "on\n");
  busy->kill();
}

TEST_P(States, ThatAreDamagedAreErrors) {
  const auto sandbox = make_sandbox();
  said(*sandbox, "echo text >f");
  const std::string good = state_of(*sandbox);
  EXPECT_THAT(refusal(""), HasSubstr("state"));
  EXPECT_THAT(refusal("nonsense"), HasSubstr("state"));
  EXPECT_THAT(refusal(good.substr(0, good.size() - 1)), HasSubstr("damaged"));
  EXPECT_THAT(refusal(good + "x"), HasSubstr("damaged"));
  for (std::size_t at = good.find('\n') + 1; at < good.size(); at += good.size() / 23) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    EXPECT_THAT(refusal(bad), HasSubstr("damaged")) << at;
  }
  const auto large = export_state(*sandbox, 100);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code(), Errno::fbig);
}

// As a file is whose end was moved, which costs nobody anything on the disk.
TEST_P(States, ThatGoOnBeyondTheirEndAreNotReadToAnother) {
  const auto sandbox = make_sandbox();
  said(*sandbox, "echo text >f");
  const std::string good = state_of(*sandbox);
  constexpr std::size_t enough = 8 << 20;
  std::size_t taken = 0;
  const ByteSource endless = [&](std::span<std::byte> to) -> Result<std::size_t> {
    for (std::byte& one : to) {
      one = taken < good.size() ? static_cast<std::byte>(good[taken]) : std::byte{0};
      ++taken;
    }
    return taken < enough ? to.size() : 0;
  };
  const auto made = import_state(engine(), of_engine({}), endless);
  ASSERT_FALSE(made);
  EXPECT_THAT(std::string(made.error().sentence()), HasSubstr("damaged"));
  EXPECT_LT(taken, enough);
}

TEST_P(States, TakeNoMoreThanTheOptionsAllow) {
  const auto sandbox = make_sandbox();
  said(*sandbox, "head -c 8000000 /dev/urandom >f");
  EXPECT_THAT(refusal(state_of(*sandbox), {.file_limit_bytes = 4 << 20}),
              HasSubstr("may not have that many files"));
}

TEST_P(States, OfTheOtherEngineAreRefused) {
  const std::string state = std::string(is_linux() ? "cloche sandbox state 2\n{}\n"
                                                   : "cloche linux sandbox state 1\n{}\n") +
                            std::string(32, 'x');
  EXPECT_NE(refusal(state), "it was taken");
}

// Whoever knows the format can write one with a good sum: it does what a guest could, or nothing.
TEST_P(States, ThatAreForgedGainNothing) {
  if (!is_linux()) GTEST_SKIP() << "vfs/saved_tree_test.cc and its fuzzer";
  const auto sandbox = make_sandbox();
  said(*sandbox, "mkdir d; echo text >d/f; ln -s /etc l; ln d/f d/g; rm /etc/group");
  // Without what it says of its length, as a state of a release before, or every other one would be
  // refused for that.
  const std::string good =
      std::regex_replace(state_of(*sandbox), std::regex("\"bytes\":[0-9]+,"), "");
  const std::size_t head = good.find('\n', good.find('\n') + 1) + 1;
  const auto sealed = [](std::string bytes) {
    Sha256 digest;
    digest.add(bytes);
    const auto sum = digest.end();
    return bytes.append(reinterpret_cast<const char*>(sum.data()), sum.size());
  };
  const std::string body = good.substr(0, good.size() - Sha256::size);
  EXPECT_EQ(refusal(sealed(body)), "it was taken");
  std::mt19937 random(7);
  for (int i = 0; i < 60; ++i) {
    std::string bad = body;
    switch (i % 3) {
      case 0: bad.resize(head + random() % (bad.size() - head)); break;
      case 1:
        for (int n = 0; n < 3; ++n) {
          char& one = bad[head + random() % (bad.size() - head)];
          one = static_cast<char>(one ^ (1 << (random() % 8)));
        }
        break;
      default: bad.insert(head + random() % (bad.size() - head), random() % 50, '\xff');
    }
    const auto made = import_state(engine(), of_engine(), sealed(bad));
    if (!made) continue;
    EXPECT_EQ((*made)->run({.script = "echo alive"}).stdout_data, "alive\n");
  }
  // Paths that lead elsewhere.
  std::string climbs = body;
  for (std::size_t at = climbs.find("workspace/d"); at != std::string::npos;
       at = climbs.find("workspace/d", at + 1))
    climbs.replace(at, 11, "../../../..");
  EXPECT_THAT(refusal(sealed(climbs)), HasSubstr("damaged"));
}

TEST_P(States, LeaveFoldersOfTheHostAlone) {
  if (!is_linux()) GTEST_SKIP() << "what is mounted is not in a state there either";
  const auto sandbox = make_sandbox();
  said(*sandbox, "mkdir -p /data/sub; echo of the state >/data/f; chmod 700 /data");
  std::string name = "/tmp/cloche-states-XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const auto again =
      sandbox_of(state_of(*sandbox), {.mounts = {{.host_path = name, .guest_path = "/data"}}});
  ASSERT_TRUE(again);
  EXPECT_EQ(said(*again, "ls /data"), "");
  EXPECT_EQ(::rmdir(name.c_str()), 0);
}

CLOCHE_ON_EACH_ENGINE(States);

}  // namespace
}  // namespace cloche::testing
