// SPDX-License-Identifier: Apache-2.0
#include "native/host/box_pool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>

#include "base/host_error.h"
#include "native/host/box_testing.h"
#include "native/host/patience.h"
#include "native/host/test_image_testing.h"

namespace cloche::native {
namespace {

// Whether it comes to be, which the pool tells nobody.
template <typename So>
bool comes_to_be(const So& so) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

class BoxPoolTest : public BoxTest {
 protected:
  static constexpr std::size_t full = BoxPool::Options{}.boxes_of_a_kind;

  // SetUp has made one, and this makes the second.
  void SetUp() override {
    BoxTest::SetUp();
    if (IsSkipped()) return;
    (void)warden_.make(plan());
    fill();
  }
  void fill() {
    ASSERT_TRUE(comes_to_be([this] { return warden_.pool().ready() == full; }));
  }
};

TEST_F(BoxPoolTest, OneThatWasMadeBeforeHasTheLimitsOfWhoTakesIt) {
  BoxPlan small = plan();
  small.limits.file_bytes = 8 << 20;
  small.limits.file_inodes = 100;
  small.limits.open_files = 77;
  small.limits.processes = 20;
  small.home = "/some/where/deep";
  const auto box = warden_.make(small);
  EXPECT_LT(warden_.pool().ready(), full + 1);
  EXPECT_EQ(run("dd if=/dev/zero of=big bs=1M count=20 2>/dev/null || echo full; rm big; "
                "for i in $(seq 200); do : 2>/dev/null >f$i || break; done; "
                "[ $i -lt 100 ] && echo few; ulimit -n -u; stat -c '%A %U' /some/where/deep",
                box.get()),
            "full\nfew\nopen files                          (-n) 77\n"
            "max user processes                  (-u) 22\ndrwxr-xr-x root\n");
}

TEST_F(BoxPoolTest, MemoryBeyondTheLimitOfWhoTakesItEndsTheLargestProcess) {
  expect_an_end_at_the_memory_limit();
}

TEST_F(BoxPoolTest, AHomeThatCannotBeIsSaid) {
  BoxPlan bad = plan();
  bad.home = "/etc/passwd/below";
  try {
    (void)warden_.make(bad);
    FAIL() << "made in a file";
  } catch (const Error& problem) {
    EXPECT_EQ(problem.code(), Errno::notdir);
  }
}

TEST_F(BoxPoolTest, EachIsGivenOnceAndHasNothingOfAnother) {
  constexpr int threads = 4, of_each = 25;
  std::mutex mutex;
  std::set<std::string> names;
  std::atomic<int> used = 0;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      for (int k = 0; k < of_each; ++k) {
        const auto box = warden_.make(plan());
        const std::string name = fmt::format("{}-{}", i, k);
        // What is in the places that guests write to, then something for the next one to find.
        const std::string found = run(
            fmt::format("ls -A /workspace /tmp /dev/shm /root; cat /proc/net/dev | grep -c 'lo: "
                        " *0 '; for to in /workspace /tmp /dev/shm /root /usr/bin; do echo {} "
                        ">$to/f; done; "
                        "cat /usr/bin/f",
                        name),
            box.get());
        const bool is_new =
            found == "/dev/shm:\n\n/root:\n\n/tmp:\n\n/workspace:\n1\n" + name + "\n";
        EXPECT_TRUE(is_new) << found;
        used += is_new ? 1 : 0;
        const std::scoped_lock lock(mutex);
        names.insert(name);
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(used, threads * of_each);
  EXPECT_EQ(names.size(), static_cast<std::size_t>(threads * of_each));
}

TEST_F(BoxPoolTest, WhatMustBeThereFromTheBeginningIsMadeForIt) {
  run("echo before >f");
  const auto pause = box_->pause();
  ASSERT_TRUE(pause.ok());
  BoxPlan twin = plan();
  twin.begin_with = (*pause)->changes();
  EXPECT_EQ(run("cat f", warden_.make(twin).get()), "before\n");
  BoxPlan other = plan();
  other.user = 1000;
  other.group = 1000;
  EXPECT_EQ(run("echo $UID", warden_.make(other).get()), "1000\n");
  EXPECT_EQ(warden_.pool().ready(), full);
}

TEST_F(BoxPoolTest, ABoxSettlesOnceAndOneThatHasItsLimitsNever) {
  BoxPlan wide = plan();
  wide.limits.processes = 4000;
  EXPECT_EQ(box_->settle(wide).error(), Errno::inval);
  const auto taken = warden_.make(plan());
  EXPECT_EQ(taken->settle(wide).error(), Errno::inval);
  EXPECT_EQ(run("ulimit -u", taken.get()), "66\n");
}

TEST_F(BoxPoolTest, ThoseThatHaveEndedMeanwhileAreNotGiven) {
  int ended = 0;
  for (const pid_t pid : box_processes()) {
    const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    EXPECT_TRUE(readable_within(process.get(), patience));
    ++ended;
  }
  EXPECT_GE(ended, static_cast<int>(full));
  EXPECT_EQ(run("echo lives", warden_.make(plan()).get()), "lives\n");
}

TEST_F(BoxPoolTest, TheWardensEndIsTheEndOfThoseThatWait) {
  const std::vector<pid_t> boxes = box_processes();
  ASSERT_GT(boxes.size(), full);
  std::vector<UniqueFd> ends;
  for (const pid_t pid : boxes)
    ends.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ASSERT_EQ(::kill(warden_process(), SIGKILL), 0);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    EXPECT_TRUE(readable_within(ends[i].get(), patience)) << boxes[i];
  // Whoever asks first hears of it: somebody who wants a box, or the pool.
  std::unique_ptr<Box> next;
  EXPECT_TRUE(comes_to_be([&] {
    try {
      next = warden_.make(plan());
    } catch (const HostError&) {
    }
    return next != nullptr;
  }));
  EXPECT_EQ(run("echo again", next.get()), "again\n");
}

// Of the process that has the boxes, in the midst of everything.
TEST_F(BoxPoolTest, TheEndOfWhoHasThemIsTheEndOfThoseThatWait) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const pid_t server = ::fork();
  if (server == 0) {
    Warden own(warden_program());
    (void)own.make(plan());
    const auto box = own.make(plan());
    while (own.pool().ready() < full) std::this_thread::yield();
    (void)!::write(writing.get(), "+", 1);
    for (;;) ::pause();
  }
  writing.reset();
  char said = '-';
  ASSERT_EQ(::read(reading.get(), &said, 1), 1);
  const std::vector<pid_t> boxes = box_processes(server);
  EXPECT_GT(boxes.size(), full);
  std::vector<UniqueFd> lives;
  for (const pid_t pid : boxes)
    lives.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  ASSERT_EQ(::waitpid(server, nullptr, 0), server);
  for (const UniqueFd& life : lives) EXPECT_TRUE(readable_within(life.get(), patience));
}

TEST(BoxPool, WhatNobodyWantsForLongIsEnded) {
  CLOCHE_NEEDS_BOXES();
  Warden warden(warden_program(), {.boxes_of_a_kind = 2, .rest = std::chrono::milliseconds(50)});
  const UniqueFd image(::open(test_image().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::size_t most = 0;
  EXPECT_TRUE(comes_to_be([&] {
    if (most == 0) (void)warden.make({.image = image.get()});
    most = std::max(most, warden.pool().ready());
    return most > 0;
  }));
  EXPECT_TRUE(comes_to_be([&] { return warden.pool().ready() == 0; }));
}

TEST(BoxPool, OneThatCannotBeMadeIsNotTriedOverAndOver) {
  CLOCHE_NEEDS_BOXES();
  const UniqueFd image(::open(test_image().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::atomic<int> tries = 0;
  BoxPool pool({}, [&](const BoxPlan&) -> std::unique_ptr<Box> {
    ++tries;
    throw HostError("no boxes today");
  });
  const BoxPlan plan{.image = image.get()};
  for (int wanted = 1; wanted <= 3; ++wanted) {
    EXPECT_EQ(pool.take(plan), nullptr);
    EXPECT_TRUE(comes_to_be([&] { return tries == wanted - 1; }));
  }
  EXPECT_EQ(pool.ready(), 0U);
}

TEST(BoxPool, NoneIsMadeWhileSomebodyWaits) {
  CLOCHE_NEEDS_BOXES();
  const UniqueFd image(::open(test_image().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::atomic<bool> may = false;
  std::atomic<int> too_early = 0, tries = 0;
  BoxPool pool({}, [&](const BoxPlan&) -> std::unique_ptr<Box> {
    too_early += may ? 0 : 1;
    ++tries;
    throw HostError("no boxes today");
  });
  {
    const BoxPool::Wait wait(pool);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(pool.take({.image = image.get()}), nullptr);
    may = true;
  }
  EXPECT_TRUE(comes_to_be([&] { return tries > 0; }));
  EXPECT_EQ(too_early, 0);
}

}  // namespace
}  // namespace cloche::native
