// SPDX-License-Identifier: Apache-2.0
#include "native/host/box.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "native/host/box_testing.h"
#include "native/host/patience.h"

namespace cloche::native {
namespace {

using warden::Answer;
using warden::Tell;

TEST_F(BoxTest, ACommandRunsAndItsStatusIsTold) {
  Started started = start("echo hello; exit 3");
  EXPECT_EQ(read_all(started.output), "hello\n");
  const Answer end = next(*started.command);
  EXPECT_EQ(end.tell, Tell::ended);
  EXPECT_EQ(WEXITSTATUS(end.value), 3);
}

TEST_F(BoxTest, AProgramThatIsNotThereIsToldWithItsErrno) {
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  auto command = box_->start({.arguments = {"no-such-program"},
                              .environment = {},
                              .directory = "/",
                              .files = {nothing.get(), nothing.get(), nothing.get()}});
  ASSERT_TRUE(command.ok());
  const Answer answer = next(**command);
  EXPECT_EQ(answer.tell, Tell::not_started);
  EXPECT_EQ(answer.step, warden::Step::program);
  EXPECT_EQ(answer.value, ENOENT);
}

TEST_F(BoxTest, FilesAreSeenFromBothSides) {
  FileClient& files = box_->files();
  const std::string content(300'000, 'x');
  ASSERT_TRUE(files.make_folders("/workspace/a/b").ok());
  using namespace warden::file_open;
  auto file = files.open("/workspace/a/b/c", write | create, 0640);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->is_new);
  ASSERT_TRUE(files.write(file->handle, 0, content).ok());
  EXPECT_EQ(run("stat -c '%s %a' a/b/c; echo more >>a/b/c"), "300000 640\n");
  auto again = files.open("/workspace/a/b/c", read, 0);
  ASSERT_TRUE(again.ok());
  EXPECT_FALSE(again->is_new);
  EXPECT_FALSE(files.open("/workspace/a/b/c", write | create, 0)->is_new);
  EXPECT_EQ(files.open("/workspace/a/b/c", write | create | exclusive, 0).error(), Errno::exist);
  const auto text = files.read(again->handle, 0, 1 << 20);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(*text, content + "more\n");
  const auto list = files.list("/workspace/a", 10);
  ASSERT_TRUE(list.ok());
  ASSERT_EQ(list->size(), 1U);
  EXPECT_EQ(list->front().name, "b");
  EXPECT_EQ(files.open("/workspace", read, 0).error(), Errno::isdir);
}

// Killed in whatever session it is; what another run has started goes on.
TEST_F(BoxTest, KillEndsARunsTreeAndNothingElse) {
  Started other = start("echo up; exec sleep 1000");
  std::array<char, 3> up{};
  ASSERT_EQ(::read(other.output.get(), up.data(), up.size()), 3);
  Started run = start(
      "setsid bash -c 'trap \"\" TERM HUP; (setsid sleep 1001 &); sleep 1002' & (sleep 1003 &); "
      "echo up; wait");
  ASSERT_EQ(::read(run.output.get(), up.data(), up.size()), 3);
  run.command->kill();
  bool ended = false, killed = false;
  while (!killed) {
    const Answer answer = next(*run.command);
    ended |= answer.tell == Tell::ended;
    killed = answer.tell == Tell::killed;
  }
  EXPECT_TRUE(ended);
  EXPECT_EQ(read_all(run.output), "");  // nobody holds it any more
  EXPECT_EQ(this->run("ps ax -o args= | grep -c '^sleep 100[1-3]'"), "0\n");
  EXPECT_EQ(this->run("ps ax -o args= | grep -c '^sleep 1000'"), "1\n");
}

// One that has not become its program yet, too.
TEST_F(BoxTest, ACancelEndsWhatHasOnlyBegun) {
  for (int times = 0; times < 30; ++times) {
    Started started = start("exec sleep 1000");
    box_->kill_all();
    EXPECT_EQ(next(*started.command).tell, Tell::ended);
  }
  EXPECT_EQ(run("ps ax -o args= | grep -c '^sleep 1000'"), "0\n");
}

TEST_F(BoxTest, AForkHasTheFilesAsTheyWere) {
  run("echo before >f; rm /usr/bin/yes; mkdir -p /opt/x; ln f g");
  std::unique_ptr<Box> twin;
  {
    auto pause = box_->pause();
    ASSERT_TRUE(pause.ok());
    BoxPlan twin_plan = plan();
    twin_plan.begin_with = (*pause)->changes();
    twin = warden_.make(twin_plan);
  }
  run("echo after >f");
  EXPECT_EQ(run("cat f g; ls -d /usr/bin/yes /opt/x 2>&1; stat -c %h f", twin.get()),
            "before\nbefore\nls: cannot access '/usr/bin/yes': No such file or directory\n/opt/x\n"
            "2\n");
  EXPECT_EQ(run("cat f"), "after\n");
}

// A shell that has jobs would take one that it waits for as stopped, and go on without it.
TEST_F(BoxTest, APauseStopsNoJobOfAShell) {
  Started shell = start("set -m; for i in {1..10}; do sleep 0.1 | cat || echo $?; done; echo over");
  bool ended = false;
  for (int times = 0; !ended; ++times) {
    ASSERT_LT(times, 10'000);
    ASSERT_TRUE(box_->pause().ok());
    ended = readable_within(shell.output.get(), std::chrono::milliseconds(10));
  }
  EXPECT_EQ(read_all(shell.output), "over\n");
}

TEST_F(BoxTest, TwoPausesAtOnceStopNothingForEver) {
  Started command = start("echo up; sleep 0.1; echo over");
  std::array<char, 3> up{};
  ASSERT_EQ(::read(command.output.get(), up.data(), up.size()), 3);
  {
    const auto one = box_->pause(), other = box_->pause();
    ASSERT_TRUE(one.ok() && other.ok());
  }
  ASSERT_TRUE(readable_within(command.output.get(), patience));
  EXPECT_EQ(read_all(command.output), "over\n");
}

TEST_F(BoxTest, ATerminalIsOne) {
  auto command = box_->start({.arguments = {"bash", "-c", "tty; stty size; read x; echo got $x"},
                              .environment = {"PATH=/usr/bin:/bin"},
                              .directory = "/",
                              .terminal = warden::TerminalShape{.rows = 12, .columns = 34},
                              .files = {}});
  ASSERT_TRUE(command.ok());
  ASSERT_EQ(next(**command).tell, Tell::terminal);
  const UniqueFd master = (*command)->take_terminal();
  ASSERT_TRUE(static_cast<bool>(master));
  std::string shown;
  bool typed = false;
  while (shown.find("got") == std::string::npos ||
         shown.find("hi", shown.find("got")) == std::string::npos) {
    ASSERT_TRUE(readable_within(master.get(), patience));
    std::array<char, 256> piece{};
    const ssize_t got = ::read(master.get(), piece.data(), piece.size());
    ASSERT_GT(got, 0) << shown;
    shown.append(piece.data(), static_cast<std::size_t>(got));
    if (!typed && shown.find("12 34") != std::string::npos) {
      ASSERT_EQ(::write(master.get(), "hi\r", 3), 3);
      typed = true;
    }
  }
  EXPECT_NE(shown.find("/dev/pts/0"), std::string::npos);
}

TEST_F(BoxTest, GuestsAreEndedFirstWhereTheMachineHasNoMemory) {
  EXPECT_EQ(run("cat /proc/self/oom_score_adj /proc/1/oom_score_adj"), "750\n500\n");
  // Where the warden could say so they are never as important as that; and what they have said is not
  // what it stays at.
  if (::geteuid() == 0 && ::prctl(PR_CAPBSET_READ, CAP_SYS_RESOURCE, 0, 0, 0) == 1) {
    EXPECT_EQ(run("(echo 399 >/proc/self/oom_score_adj) 2>/dev/null; cat /proc/self/oom_score_adj"),
              "750\n");
  }
}

TEST_F(BoxTest, QuotasHold) {
  BoxPlan small = plan();
  small.limits.file_bytes = 8 << 20;
  small.limits.file_inodes = 100;
  const auto box = warden_.make(small);
  EXPECT_EQ(run("dd if=/dev/zero of=big bs=1M count=20 2>/dev/null || echo full; rm big; "
                "for i in $(seq 200); do : 2>/dev/null >f$i || break; done; "
                "[ $i -lt 100 ] && echo few; dd if=/dev/zero of=/dev/shm/x bs=1M count=20 "
                "2>/dev/null || echo full",
                box.get()),
            "full\nfew\nfull\n");
}

TEST_F(BoxTest, TheEndOfABoxIsTheEndOfAllInIt) {
  Started started = start("echo up; (setsid sleep 1000 &); sleep 1000");
  std::array<char, 3> up{};
  ASSERT_EQ(::read(started.output.get(), up.data(), up.size()), 3);
  box_.reset();
  EXPECT_EQ(read_all(started.output), "");
  EXPECT_EQ(started.command->receive().error(), Errno::pipe);
}

TEST_F(BoxTest, MemoryBeyondTheLimitEndsTheLargestProcess) { expect_an_end_at_the_memory_limit(); }

}  // namespace
}  // namespace cloche::native
