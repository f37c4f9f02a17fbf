// SPDX-License-Identifier: Apache-2.0
// Boxes in control groups: in a folder that the test makes below $CLOCHE_TEST_CGROUP, or below the
// root of version 2, and removes. Where that gives no controller of memory the tests are skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "native/host/box_testing.h"
#include "native/host/patience.h"
#include "native/host/test_image_testing.h"

namespace cloche::native {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::string text(std::istreambuf_iterator<char>(in), {});
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_directory(error)) found.push_back(entry.path());
  }
  return found;
}

// Removed when the warden has ended, and as soon as the kernel lets it go.
class GroupFolder {
 public:
  GroupFolder() {
    const char* const named = std::getenv("CLOCHE_TEST_CGROUP");
    const fs::path path = fs::path(named == nullptr ? "/sys/fs/cgroup" : named) /
                          fmt::format("cloche-test-{}", ::getpid());
    std::error_code error;
    if (fs::create_directory(path, error)) path_ = path;
  }
  ~GroupFolder() {
    if (path_.empty()) return;
    constexpr int most_tries = 1000;
    for (int tries = 0; tries < most_tries && ::rmdir(path_.c_str()) != 0; ++tries) {
      for (const fs::path& group : folders_in(path_)) {
        for (const fs::path& inner : folders_in(group)) ::rmdir(inner.c_str());
        ::rmdir(group.c_str());
      }
      std::this_thread::yield();
    }
  }
  GroupFolder(const GroupFolder&) = delete;
  GroupFolder& operator=(const GroupFolder&) = delete;

  const fs::path& path() const { return path_; }
  bool has_memory() const {
    return text_of(path_ / "cgroup.controllers").find("memory") != std::string::npos;
  }

 private:
  fs::path path_;
};

class BoxGroupsTest : private GroupFolder, public BoxTest {
 protected:
  void SetUp() override {
    CLOCHE_NEEDS_BOXES();
    if (!has_memory())
      GTEST_SKIP() << "no control groups of version 2 with a controller of memory are to be had";
    ::setenv("CLOCHE_CGROUP", path().c_str(), 1);
    BoxTest::SetUp();
  }
  void TearDown() override { ::unsetenv("CLOCHE_CGROUP"); }

  std::vector<fs::path> wardens() const { return folders_in(path()); }
  std::vector<fs::path> boxes() const {
    std::vector<fs::path> found;
    for (const fs::path& group : wardens()) {
      for (const fs::path& inner : folders_in(group)) {
        if (inner.filename() != "warden") found.push_back(inner);
      }
    }
    return found;
  }
  // With none ready beforehand, so that it is known whose group is whose.
  Warden plain_{warden_program(), {.boxes_of_a_kind = 0}};

  // The warden buries a box a moment after that has ended.
  void wait_for_boxes(std::size_t count) const {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (boxes().size() != count && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    EXPECT_EQ(boxes().size(), count);
  }
};

TEST_F(BoxGroupsTest, ABoxIsInOneWithItsLimits) {
  BoxPlan plan = this->plan();
  plan.limits.memory_bytes = 96 << 20;
  plan.limits.processes = 40;
  plan.limits.cpus = 5;
  box_.reset();
  wait_for_boxes(0);
  box_ = plain_.make(plan);
  wait_for_boxes(1);
  EXPECT_NE(plain_.controllers() & warden::controllers::memory, 0U);
  const fs::path group = boxes().front();
  EXPECT_EQ(text_of(group / "memory.max"), std::to_string(96 << 20));
  for (const auto& [file, text] : std::map<std::string, std::string>{
           {"memory.swap.max", "0"}, {"pids.max", "42"}, {"cpu.weight", "500"}}) {
    if (fs::exists(group / file)) {
      EXPECT_EQ(text_of(group / file), text) << file;
    }
  }
  EXPECT_NE(text_of(group / "cgroup.procs"), "");
  // None is there for the guest.
  EXPECT_EQ(run("ls /sys; grep -c cgroup2 /proc/self/mountinfo; echo 1 >/proc/1/cgroup; echo end"),
            "0\nbash: line 1: /proc/1/cgroup: Permission denied\nend\n");
  box_.reset();
  wait_for_boxes(0);
}

TEST_F(BoxGroupsTest, TheKernelHoldsTheLimitOfMemory) {
  BoxPlan plan = this->plan();
  plan.limits.memory_bytes = 64 << 20;
  box_.reset();
  wait_for_boxes(0);
  box_ = plain_.make(plan);
  wait_for_boxes(1);
  const fs::path group = boxes().front();
  for (int i = 0; i < 3; ++i) {
    Started started = start("x=$(head -c 400M /dev/zero | tr '\\0' x); echo ${#x}");
    (void)read_all(started.output);
    const warden::Answer end = next(*started.command);
    EXPECT_EQ(end.tell, warden::Tell::ended);
    EXPECT_TRUE(end.memory_exceeded);
  }
  EXPECT_NE(text_of(group / "memory.events").find("oom_kill 3"), std::string::npos);
  if (const std::string peak = text_of(group / "memory.peak"); !peak.empty()) {  // Linux 5.19
    EXPECT_LE(std::stoull(peak), plan.limits.memory_bytes);
  }
  EXPECT_EQ(run("echo on"), "on\n");
  // What is killed for another reason is not said to have taken too much.
  const auto other = plain_.make(this->plan());
  Started started = start("kill -9 $$", other.get());
  EXPECT_FALSE(next(*started.command).memory_exceeded);
}

TEST_F(BoxGroupsTest, ABoxThatWasReadyGetsItsOwn) {
  BoxPlan plan = this->plan();
  plan.limits.memory_bytes = 80 << 20;
  for (int i = 0; i < 3; ++i) box_ = warden_.make(plan);
  while (warden_.pool().ready() == 0) std::this_thread::yield();
  box_ = warden_.make(plan);
  bool is_found = false;
  for (const fs::path& group : boxes())
    is_found |= text_of(group / "memory.max") == std::to_string(80 << 20);
  EXPECT_TRUE(is_found);
  EXPECT_EQ(run("echo on"), "on\n");
}

TEST_F(BoxGroupsTest, WhatAWardenLeavesIsRemovedByTheNext) {
  const pid_t first = warden_process();
  ASSERT_EQ(::kill(first, SIGKILL), 0);
  box_.reset();
  ASSERT_EQ(wardens().size(), 1U);
  const auto end = std::chrono::steady_clock::now() + patience;
  while (text_of(wardens().front() / "cgroup.events").find("populated 0") == std::string::npos &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::yield();
  box_ = warden_.make(plan());
  ASSERT_EQ(wardens().size(), 1U);
  EXPECT_EQ(wardens().front().filename(), fmt::format("cloche-{}", warden_process()));
}

TEST_F(BoxGroupsTest, AFolderWithProcessesIsRefused) {
  ::setenv("CLOCHE_CGROUP", boxes().front().c_str(), 1);
  Warden other(warden_program());
  EXPECT_THROW((void)other.make(plan()), Error);
}

// On any machine.
TEST_F(BoxTest, AFolderThatIsNoneOfControlGroupsIsRefused) {
  for (const char* folder : {"/tmp", "/nowhere", "/proc/version"}) {
    ::setenv("CLOCHE_CGROUP", folder, 1);
    Warden other(warden_program());
    try {
      (void)other.make(plan());
      ADD_FAILURE() << folder;
    } catch (const Error& problem) {
      EXPECT_NE(std::string(problem.what()).find("giving it a control group failed"),
                std::string::npos)
          << problem.what();
    }
  }
  ::unsetenv("CLOCHE_CGROUP");
}

}  // namespace
}  // namespace cloche::native
