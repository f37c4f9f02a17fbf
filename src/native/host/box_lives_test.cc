// SPDX-License-Identifier: Apache-2.0
// What is left of boxes that have ended: nothing, and for the next one nothing to be seen.
#include <dirent.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "native/host/box_testing.h"
#include "native/host/test_image_testing.h"

namespace cloche::native {
namespace {

// All that a box can see of its network, but for numbers of the whole machine.
constexpr const char* look =
    "cd /proc/net; cat dev snmp netstat snmp6 fib_trie if_inet6 igmp igmp6 ip6_flowlabel unix tcp "
    "tcp6 udp udp6 raw route 2>/dev/null; head -n 1 sockstat; cd /proc/sys/net; "
    "cat ipv4/ip_unprivileged_port_start ipv4/tcp_fastopen ipv4/tcp_max_tw_buckets "
    "ipv4/ip_local_port_range ipv4/ping_group_range ipv4/conf/lo/force_igmp_version";

std::size_t entries_of(const std::string& path) {
  std::size_t count = 0;
  DIR* const folder = ::opendir(path.c_str());
  while (folder != nullptr && ::readdir(folder) != nullptr) ++count;
  if (folder != nullptr) ::closedir(folder);
  return count;
}

std::size_t kilobytes_of(pid_t pid, std::string_view name) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const std::size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::stoul(text.substr(at + name.size()));
}

std::size_t lines_of(const std::string& path) {
  std::ifstream file(path);
  return static_cast<std::size_t>(
      std::count(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>(), '\n'));
}

class BoxLivesTest : public BoxTest {
 protected:
  // In a box of its own.
  std::string alone(const std::string& script) { return run(script, warden_.make(plan()).get()); }
  static std::string python(const std::string& code) { return "python3 -c '" + code + "'; "; }
};

// What each of these leaves in its network: counters, sockets that are still ending, groups and labels
// that the kernel keeps for a while, sockets that nobody has and nobody can close.
TEST_F(BoxLivesTest, NoBoxSeesWhatAnotherHasDoneInItsNetwork) {
  if (!test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
  const std::string first = alone(look);
  ASSERT_NE(first.find("lo:"), std::string::npos);
  const std::vector<std::string> lives{
      "(echo >/dev/tcp/127.0.0.1/9) 2>/dev/null; :",
      "(echo >/dev/udp/127.0.0.1/9) 2>/dev/null; :",
      "(echo >/dev/tcp/9.9.9.9/9) 2>/dev/null; :",
      python("import socket; s = socket.create_server((\"127.0.0.1\", 4321)); "
             "c = socket.create_connection((\"127.0.0.1\", 4321)); a, _ = s.accept(); "
             "a.close(); c.close()"),
      python("import socket; s = socket.create_server((\"127.0.0.1\", 80)); "
             "c = socket.create_connection((\"127.0.0.1\", 80)); a, _ = s.accept(); "
             "a.setblocking(False)\ntry:\n  while True: a.send(b\"x\" * 65536)\n"
             "except BlockingIOError: pass"),
      python("import socket, struct; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); "
             "s.setsockopt(0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton(\"239.1.2.3\") + "
             "socket.inet_aton(\"127.0.0.1\"))"),
      python("import socket, struct; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); "
             "s.setsockopt(41, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, "
             "\"ff02::1234\") + struct.pack(\"i\", 1))"),
      python("import socket, struct; s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); "
             "s.setsockopt(41, 32, socket.inet_pton(socket.AF_INET6, \"::1\") + "
             "struct.pack(\">I\", 0) + struct.pack(\"BBHHHI\", 0, 2, 1, 30, 30, 0))"),
      python("import socket, array; a, b = socket.socketpair(); "
             "t = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); t.bind((\"127.0.0.1\", 777)); "
             "a.sendmsg([b\"x\"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, "
             "array.array(\"i\", [a.fileno(), b.fileno(), t.fileno()]))])"),
      python("import socket; s = socket.socket(socket.AF_UNIX); s.bind(\"\\0name\"); s.listen()"),
      "setsid sleep 1000 >/dev/null 2>&1 & exec 3<>/dev/tcp/127.0.0.1/9; :"};
  for (const std::string& life : lives) {
    (void)alone(life + " 2>/dev/null");
    for (int i = 0; i < 3; ++i) ASSERT_EQ(alone(look), first) << life;
  }
  for (int i = 0; i < 16; ++i) ASSERT_EQ(alone(look), first);  // wherever they have been
}

// Pid 1 is asked about each connect, with the socket in hand.
TEST_F(BoxLivesTest, NobodyHoldsASocketThatItsProgramHasClosed) {
  if (!test_image_has_python()) GTEST_SKIP() << "this machine has no python3";
  EXPECT_EQ(
      alone(python("import socket\n"
                   "for i in range(2000):\n"
                   "  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                   "  s.bind((\"127.0.0.1\", 4321)); s.connect((\"127.0.0.1\", 9)); s.close()\n"
                   "print(\"bound\")") +
            ":"),
      "bound\n");
}

// Addresses and routes are laid there, and sockets of a box may be held outside when it has ended.
TEST_F(BoxLivesTest, NoBoxSeesWhatWasLaidInANetworkForAnother) {
  const std::string first = alone(look);
  std::vector<Box::Network> networks;
  std::vector<UniqueFd> sockets;
  for (int i = 0; i < 4; ++i) {
    const auto box = warden_.make(plan());
    if (i % 2 == 0) {
      Result<Box::Network> network = box->open_network();
      if (!network) GTEST_SKIP() << "no networks here";
      networks.push_back(*std::move(network));
    } else {
      Result<UniqueFd> calls = box->open_calls();
      ASSERT_TRUE(calls.ok());
      sockets.push_back(*std::move(calls));
    }
  }
  for (int i = 0; i < 16; ++i) ASSERT_EQ(alone(look), first);
  networks.clear();
  sockets.clear();
  for (int i = 0; i < 16; ++i) ASSERT_EQ(alone(look), first);
}

TEST_F(BoxLivesTest, ANetworkThatNobodyHasUsedIsLentOn) {
  std::vector<std::string> seen;
  bool is_lent_on = false;
  for (int i = 0; i < 40 && !is_lent_on; ++i) {
    seen.push_back(alone("readlink /proc/self/ns/net"));
    is_lent_on = std::count(seen.begin(), seen.end(), seen.back()) > 1;
  }
  EXPECT_TRUE(is_lent_on);
  std::vector<std::unique_ptr<Box>> others;
  for (int i = 0; i < 3; ++i) others.push_back(warden_.make(plan()));
  // At the same time nobody has another's.
  std::vector<std::string> all;
  for (const auto& box : others) all.push_back(run("readlink /proc/self/ns/net", box.get()));
  EXPECT_NE(all[0], all[1]);
  EXPECT_NE(all[1], all[2]);
  EXPECT_NE(all[0], all[2]);
}

// Bounded, whatever they were doing when they were ended.
TEST_F(BoxLivesTest, ThousandsLeaveNothing) {
  constexpr int lives = 1000;
  const auto live = [this](int i) {
    const auto box = warden_.make(plan());
    switch (i % 5) {
      case 0: return (void)run("echo x >f; echo hi", box.get());
      case 1: return (void)start("setsid sleep 1000 & sleep 1000", box.get());
      case 2: return (void)run("(echo >/dev/tcp/127.0.0.1/9) 2>/dev/null; :", box.get());
      case 3: return (void)box->files().make_folders("/workspace/a/b");
      default: return;
    }
  };
  for (int i = 0; i < 100; ++i) live(i);
  box_.reset();
  const pid_t warden = warden_process();
  const auto count = [&] {
    return std::vector<std::size_t>{
        entries_of("/proc/self/fd"), entries_of(fmt::format("/proc/{}/fd", warden)),
        lines_of("/proc/self/mountinfo"), lines_of(fmt::format("/proc/{}/mountinfo", warden))};
  };
  constexpr std::size_t resting = 2 * 8, waiting = BoxPool::Options{}.boxes_of_a_kind;
  const auto before = count();
  const std::size_t own_before = kilobytes_of(::getpid(), "RssAnon:"),
                    warden_before = kilobytes_of(warden, "RssAnon:");
  for (int i = 0; i < lives; ++i) live(i);
  const auto after = count();
  EXPECT_LE(after[0], before[0] + 3 * waiting);
  EXPECT_LE(after[1], before[1] + resting + 2 * waiting);
  EXPECT_EQ(after[2], before[2]);
  EXPECT_EQ(after[3], before[3]);
  EXPECT_LE(box_processes().size(), waiting + 1);  // and one that is being made
  EXPECT_LE(kilobytes_of(::getpid(), "RssAnon:"), own_before + 4096);
  EXPECT_LE(kilobytes_of(warden, "RssAnon:"), warden_before + 512);
}

}  // namespace
}  // namespace cloche::native
