// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/temp_dir_testing.h"

namespace cloche::serve {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Words = std::vector<std::string>;

// The sentence of a line that is refused.
std::string refusal(const Words& words) {
  try {
    (void)parse(words, Api::sessions);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::request);
    return error.what();
  }
  return "nothing";
}

TEST(ServeOptions, NothingSaidIsAServerOfThisMachine) {
  const Options options = parse({}, Api::sessions);
  EXPECT_EQ(options.api, Api::sessions);
  EXPECT_EQ(options.http.host, "127.0.0.1");
  EXPECT_EQ(options.http.port, 8000);
  EXPECT_EQ(options.sessions.idle_timeout, 1800s);
  EXPECT_EQ(options.sessions.session_limit, 1000u);
  EXPECT_THAT(options.tokens, IsEmpty());
  EXPECT_THAT(options.sessions.grants, IsEmpty());
  EXPECT_FALSE(options.has_session_options);
  EXPECT_FALSE(options.has_mcp_options);
  EXPECT_FALSE(options.use_ssh_port);
  EXPECT_EQ(options.isolation.by, Isolation::By::nothing);
  EXPECT_FALSE(options.peers);
  EXPECT_THAT(options.mcp_packages, ElementsAre("numpy", "pandas", "matplotlib", "scikit-learn"));
}

TEST(ServeOptions, SessionsOfStepsAreNotEndedForBeingIdle) {
  EXPECT_EQ(parse({}, Api::steps).sessions.idle_timeout, 0s);
  EXPECT_EQ(parse({"--api", "steps"}, Api::sessions).sessions.idle_timeout, 0s);
  EXPECT_EQ(parse({"--idle-timeout", "5m"}, Api::steps).sessions.idle_timeout, 300s);
}

// An option of the help stands alone, or wants a value or another option.
TEST(ServeOptions, WhatTheHelpNamesIsKnown) {
  const std::string page = help_page();
  const std::regex flag("\n  (--[a-z0-9-]+)");
  std::set<std::string> flags;
  for (std::sregex_iterator at(page.begin(), page.end(), flag), end; at != end; ++at)
    flags.insert((*at)[1]);
  EXPECT_GT(flags.size(), 60u);
  EXPECT_TRUE(flags.contains("--session-memory"));
  for (const std::string& name : flags)
    EXPECT_THAT(refusal({name}), AnyOf("nothing", name + " wants a value",
                                       StartsWith(name + " is of no use without ")));
}

TEST(ServeOptions, UnknownWordsAreRefused) {
  EXPECT_EQ(refusal({"--no-such"}), "there is no option '--no-such'");
  EXPECT_EQ(refusal({"--session-no-such", "1"}), "there is no option '--session-no-such'");
  // Also where nothing is allowed, and no sandbox would read it.
  for (const char* option : {"--session-net-deny", "--session-net", "--allow-session-net"})
    EXPECT_THAT(refusal({option, "a.example:99999"}), HasSubstr("'a.example:99999'"));
  EXPECT_EQ(refusal({"--allow-session-no-such", "1"}),
            "there is no option '--allow-session-no-such'");
  EXPECT_EQ(refusal({"word"}), "there is no option 'word'");
  EXPECT_EQ(refusal({"--no-console=yes"}), "there is no option '--no-console'");
}

TEST(ServeOptions, AValueFollowsOrStandsBehindAnEqualsSign) {
  EXPECT_EQ(parse({"--port", "81"}, Api::sessions).http.port, 81);
  EXPECT_EQ(parse({"--port=81"}, Api::sessions).http.port, 81);
  EXPECT_THAT(parse({"--token=a=b"}, Api::sessions).tokens, ElementsAre("a=b"));
  EXPECT_EQ(refusal({"--port"}), "--port wants a value");
}

TEST(ServeOptions, NumbersAreWholeAndInRange) {
  for (const std::string port : {"", "x", "-1", "65536", "80x", " 80", "1e3"})
    EXPECT_EQ(refusal({"--port", port}),
              "--port wants a number from 0 to 65535, not '" + port + "'");
  EXPECT_EQ(refusal({"--max-connections", "3"}), "--max-connections wants 4 at least");
  EXPECT_EQ(refusal({"--cell-key", "0"}), "--cell-key wants a number from 1 to 65535, not '0'");
  EXPECT_EQ(refusal({"--cell-key", "70000"}),
            "--cell-key wants a number from 1 to 65535, not '70000'");
  EXPECT_THAT(refusal({"--unsent-limit", "0"}), HasSubstr("512M or 2G"));
  EXPECT_THAT(refusal({"--unsent-limit", "99999999999T"}), HasSubstr("512M or 2G"));
  EXPECT_THAT(refusal({"--drain", "-1"}), HasSubstr("90s, 30m or 2h"));
}

// One reader of amounts serves every door.
TEST(ServeOptions, AmountsAreWrittenAsCommandLinesOfRunWriteThem) {
  const Options options = parse({"--session-memory", "512m", "--session-timeout", "2s",
                                 "--session-files=1KiB", "--memory-limit", "2G", "--drain", "1m"},
                                Api::sessions);
  EXPECT_EQ(options.sessions.sandbox.memory_limit_bytes, 512U << 20);
  EXPECT_EQ(options.sessions.sandbox.timeout, 2s);
  EXPECT_EQ(options.sessions.sandbox.file_limit_bytes, 1024u);
  EXPECT_EQ(options.sessions.memory_limit_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(options.drain, 60s);
  EXPECT_GE(options.http.received_limit_bytes, 1U << 30);
  EXPECT_EQ(parse({"--received-limit", "64M"}, Api::sessions).http.received_limit_bytes, 64U << 20);
  EXPECT_TRUE(options.has_session_options);
}

TEST(ServeOptions, SessionsAreGivenWhatRunIsGiven) {
  const TempDir folder;
  const Options options =
      parse({"--session-net", "*.example.com", "--session-net", "10.0.0.0/8", "--session-net-deny",
             "10.1.0.0/16", "--session-packages", "numpy,pandas", "--session-env", "A=1",
             "--session-mount", folder.path().string() + ":/data:ro", "--session-processes", "7"},
            Api::sessions);
  const SandboxOptions& sandbox = options.sessions.sandbox;
  EXPECT_THAT(sandbox.network.allow, ElementsAre("*.example.com", "10.0.0.0/8"));
  EXPECT_THAT(sandbox.network.deny, ElementsAre("10.1.0.0/16"));
  EXPECT_THAT(sandbox.packages, ElementsAre("numpy", "pandas"));
  EXPECT_EQ(sandbox.environment.at("A"), "1");
  ASSERT_EQ(sandbox.mounts.size(), 1u);
  EXPECT_EQ(sandbox.mounts[0].guest_path, "/data");
  EXPECT_EQ(sandbox.process_limit, 7u);
}

TEST(ServeOptions, AnIsolationIsOfSessionsOrOfTemplatesThatAreImages) {
  const Words linux{"--session-engine",    "linux", "--session-image", "a",
                    "--session-isolation", "gvisor"};
  EXPECT_EQ(parse(linux, Api::sessions).sessions.sandbox.isolation, cloche::Isolation::gvisor);
  const Options templates =
      parse({"--session-isolation", "gvisor", "--e2b-template", "a=b"}, Api::sessions);
  EXPECT_EQ(templates.sessions.sandbox.isolation, cloche::Isolation::full);
  EXPECT_EQ(templates.e2b.isolation, cloche::Isolation::gvisor);
}

TEST(ServeOptions, WhatMayBeAskedForIsNotGiven) {
  const Options options =
      parse({"--allow-session-memory", "4G", "--allow-session-net=*"}, Api::sessions);
  EXPECT_EQ(options.sessions.grants.size(), 2u);
  EXPECT_EQ(options.sessions.sandbox.memory_limit_bytes, SandboxOptions().memory_limit_bytes);
  EXPECT_THAT(options.sessions.sandbox.network.allow, IsEmpty());
}

TEST(ServeOptions, OthersThanThisMachineNeedAToken) {
  EXPECT_THAT(refusal({"--host", "0.0.0.0"}), HasSubstr("say --token or --tokens-file"));
  EXPECT_EQ(refusal({"--host", "0.0.0.0", "--token", "secret"}), "nothing");
  EXPECT_EQ(refusal({"--host", "0.0.0.0", "--tokens-file", "tokens"}), "nothing");
  EXPECT_EQ(refusal({"--host", "0.0.0.0", "--api", "steps"}), "nothing");
  EXPECT_EQ(refusal({"--host", "::1"}), "nothing");
  EXPECT_EQ(parse({"--host", "[::1]"}, Api::sessions).http.host, "::1");
  EXPECT_EQ(refusal({"--host", ""}), "--host wants an address, such as 127.0.0.1 or ::1");
  EXPECT_EQ(refusal({"--token", ""}), "--token wants a token that is not empty");
}

TEST(ServeOptions, WhatBelongsTogetherIsSaidTogether) {
  EXPECT_EQ(refusal({"--tls-cert", "c.pem"}), "--tls-cert and --tls-key belong together");
  EXPECT_EQ(refusal({"--tls-key", "k.pem"}), "--tls-cert and --tls-key belong together");
  EXPECT_EQ(refusal({"--save", "pause"}), "--save is of no use without --state-dir");
  EXPECT_EQ(refusal({"--max-workers", "2"}), "--max-workers is of no use without --isolate");
  EXPECT_EQ(refusal({"--peers", "a:1"}), "--peers and --peer-token-file belong together");
  EXPECT_EQ(refusal({"--peer-ca", "system"}), "--peer-ca is of no use without --peers");
  EXPECT_EQ(refusal({"--tls-self-signed", "--tls-cert", "a", "--tls-key", "b"}),
            "--tls-self-signed makes a certificate: leave --tls-cert and --tls-key out");
  EXPECT_EQ(refusal({"--strict-token-sessions", "--max-token-sessions", "3"}),
            "--strict-token-sessions is of no use without --peers and --max-token-sessions");
}

TEST(ServeOptions, OneOfSeveralTokensLeavesPlacesToOthers) {
  const auto limit = [](std::vector<std::string> words) {
    return parse(words, Api::sessions).sessions.session_limit_per_owner;
  };
  EXPECT_EQ(limit({}), 0U);
  EXPECT_EQ(limit({"--token", "a"}), 0U);
  EXPECT_EQ(limit({"--token", "a", "--token", "b"}), 750U);
  EXPECT_EQ(limit({"--tokens-file", "/f"}), 750U);
  EXPECT_EQ(limit({"--tokens-file", "/f", "--max-sessions", "10"}), 8U);
  EXPECT_EQ(limit({"--tokens-file", "/f", "--max-sessions", "1"}), 1U);
  EXPECT_EQ(limit({"--tokens-file", "/f", "--max-token-sessions", "0"}), 0U);
  EXPECT_EQ(limit({"--tokens-file", "/f", "--max-token-sessions", "900"}), 900U);
}

TEST(ServeOptions, PeersKnowEachOtherByASecretThatIsNoShortWord) {
  const TempDir folder;
  const auto file_with = [&](std::string_view text) {
    const std::string path = (folder.path() / "secret").string();
    std::ofstream(path) << text;
    return path;
  };
  const auto with = [&](const std::string& path) {
    return Words{"--peers", "a:1,b:2", "--cell-key", "1", "--peer-token-file", path};
  };
  for (const std::string_view bad : {"", "fifteen-letters", "sixteen letters with blanks"})
    EXPECT_THAT(refusal(with(file_with(bad))), HasSubstr("16 characters or more")) << bad;
  EXPECT_THAT(refusal(with((folder.path() / "none").string())), HasSubstr("16 characters or more"));
  const Options options = parse(with(file_with("sixteen-letters-\nanother line\n")), Api::sessions);
  EXPECT_EQ(options.peer_token, "sixteen-letters-");
  Words without_key = with(file_with("sixteen-letters-"));
  without_key.erase(without_key.begin() + 2, without_key.begin() + 4);
  EXPECT_EQ(refusal(without_key), "--peers is of no use without --cell-key");
}

TEST(ServeOptions, IsolationRefusesWhatWouldGoAroundIt) {
  const Words isolated{"--isolate", "owner"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), isolated.begin(), isolated.end());
    return more;
  };
  EXPECT_EQ(refusal(isolated), "nothing");
  EXPECT_THAT(refusal(with({"--token", "secret"})), HasSubstr("wants --tokens-file"));
  EXPECT_THAT(refusal(with({"--ssh-port", "22"})), HasSubstr("there is no --ssh-port"));
  EXPECT_THAT(refusal(with({"--cell-key", "3"})), HasSubstr("it has none of its own"));
  EXPECT_THAT(refusal(with({"--e2b-debug"})), HasSubstr("leave --e2b-template and --e2b-debug"));
  EXPECT_THAT(refusal({"--isolate", "token"}), HasSubstr("wants owner or session"));
  EXPECT_THAT(refusal({"--isolate", "session", "--cell-key", "3"}), HasSubstr("none of its own"));
  EXPECT_EQ(parse({"--isolate", "session"}, Api::sessions).isolation.by, Isolation::By::session);
  const Options options = parse(
      with({"--max-workers", "2", "--worker-memory", "1G", "--worker-idle", "5m"}), Api::sessions);
  EXPECT_EQ(options.isolation.worker_limit, 2u);
  EXPECT_EQ(options.isolation.worker_memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(options.isolation.idle, 300s);
}

TEST(ServeOptions, SavesAreSaidInWordsOrSeconds) {
  using session::SavePolicy;
  const auto saved = [](const std::string& when) {
    return parse({"--state-dir", "states", "--save", when}, Api::sessions).sessions;
  };
  EXPECT_EQ(saved("always").save_policy, SavePolicy::always);
  EXPECT_EQ(saved("pause").save_policy, SavePolicy::pause);
  EXPECT_EQ(saved("90").save_policy, SavePolicy::interval);
  EXPECT_EQ(saved("90").save_interval, 90s);
  EXPECT_EQ(saved("5m").save_interval, 300s);
  for (const std::string bad : {"", "0", "500ms", "never"})
    EXPECT_THAT(refusal({"--state-dir", "states", "--save", bad}), HasSubstr("wants always"))
        << bad;
}

TEST(ServeOptions, NamesOfClientsAndPagesAreNamesAndOrigins) {
  const Options options = parse(
      {"--allow-host", "box.example", "--allow-host", "*", "--allow-origin", "https://app.example"},
      Api::sessions);
  EXPECT_THAT(options.allowed_hosts, ElementsAre("box.example", "*"));
  EXPECT_THAT(options.allowed_origins, ElementsAre("https://app.example"));
  EXPECT_THAT(refusal({"--allow-host", "http://box.example"}), HasSubstr("a name such as"));
  EXPECT_THAT(refusal({"--allow-origin", "app.example"}), HasSubstr("an origin such as"));
}

TEST(ServeOptions, TemplatesOfE2bHaveANameAndAnImage) {
  const Options options =
      parse({"--e2b-template", "debian=debian:12", "--e2b-net", "a.example", "--e2b-internet"},
            Api::sessions);
  EXPECT_EQ(options.e2b.images.at("debian"), "debian:12");
  EXPECT_THAT(options.e2b.network, ElementsAre("a.example", "*"));
  for (const std::string bad : {"debian", "=debian", "debian=", "deb ian=debian"})
    EXPECT_THAT(refusal({"--e2b-template", bad}), HasSubstr("NAME=IMAGE")) << bad;
  EXPECT_THAT(refusal({"--e2b-template", "a=b", "--e2b-template", "a=c"}),
              HasSubstr("says twice what a is"));
}

TEST(ServeOptions, OnlyThisMachineReachesALoopback) {
  for (const std::string host : {"localhost", "127.0.0.1", "127.1.2.3", "::1"})
    EXPECT_TRUE(is_loopback(host)) << host;
  for (const std::string host : {"0.0.0.0", "::", "10.0.0.1", "box.example", ""})
    EXPECT_FALSE(is_loopback(host)) << host;
}

}  // namespace
}  // namespace cloche::serve
