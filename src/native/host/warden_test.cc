// SPDX-License-Identifier: Apache-2.0
#include "native/host/warden.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "base/temp_dir_testing.h"
#include "native/host/box_testing.h"
#include "native/host/patience.h"
#include "native/host/test_image_testing.h"

namespace cloche::native {
namespace {

namespace fs = std::filesystem;

class WardenTest : public BoxTest {
 protected:
  void SetUp() override {
    CLOCHE_NEEDS_BOXES();
    image_.reset(::open(test_image().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }

  static void end(pid_t process) {
    const UniqueFd one(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    ASSERT_TRUE(one);
    ASSERT_EQ(::kill(process, SIGKILL), 0);
    ASSERT_TRUE(readable_within(one.get(), patience));
  }
  static void wait_for_end(const Box& box) {
    while (!box.has_ended()) std::this_thread::yield();
  }
  bool makes_boxes(Warden& warden) {
    return run("echo made", warden.make(plan()).get()) == "made\n";
  }
};

// As in a jail: there is no program any more that could be started.
TEST_F(WardenTest, ThatHasBegunInTimeIsBegunAnewWithoutStartingAProgram) {
  const TempDir folder;
  const fs::path program = folder.path() / "cloche-warden";
  fs::copy_file(warden_program(), program);
  Warden warden(program, {.boxes_of_a_kind = 0});
  int ends = 0;
  warden.on_end([&] { ++ends; });
  warden.begin();
  fs::remove(program);
  const pid_t starter = warden_process();
  EXPECT_EQ(warden.trouble(), "");
  for (const pid_t one : {starter, warden_process(starter)}) {
    std::ifstream file("/proc/" + std::to_string(one) + "/status");
    const std::string status(std::istreambuf_iterator<char>(file), {});
    EXPECT_NE(status.find("\nSeccomp:\t2\n"), std::string::npos) << status;
  }
  const std::unique_ptr<Box> box = warden.make(plan());
  EXPECT_EQ(box->why_ended(), "");

  end(warden_process(starter));
  wait_for_end(*box);
  EXPECT_EQ(box->why_ended(),
            "the sandbox has ended: something outside of it has ended its first process");
  EXPECT_EQ(warden.trouble(), "");
  EXPECT_TRUE(makes_boxes(warden));
  EXPECT_EQ(ends, 1);

  // Who wants a box does not hear of it.
  end(warden_process(starter));
  EXPECT_TRUE(makes_boxes(warden));
  EXPECT_EQ(ends, 2);

  const pid_t last = warden_process(starter);
  end(starter);
  EXPECT_TRUE(makes_boxes(warden));
  end(last);
  EXPECT_NE(warden.trouble().find("start the program anew"), std::string::npos);
  EXPECT_THROW((void)warden.make(plan()), Error);
}

TEST_F(WardenTest, ThatEndsOverAndOverIsLeftAloneForAWhile) {
  Warden warden(warden_program(), {.boxes_of_a_kind = 0},
                {.most = 2, .within = std::chrono::hours(1)});
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(makes_boxes(warden));
    end(warden_process());
  }
  EXPECT_NE(warden.trouble().find("has ended 2 times within 3600 s"), std::string::npos)
      << warden.trouble();
  EXPECT_THROW((void)warden.make(plan()), Error);
}

TEST_F(WardenTest, ThatIsLeftAloneComesBack) {
  Warden warden(warden_program(), {.boxes_of_a_kind = 0},
                {.most = 1, .within = std::chrono::milliseconds(1)});
  EXPECT_TRUE(makes_boxes(warden));
  end(warden_process());
  while (!warden.trouble().empty()) std::this_thread::yield();
  EXPECT_TRUE(makes_boxes(warden));
}

// As whoever has taken over a process in a jail would ask: descriptors of folders need no right there.
TEST_F(WardenTest, BehindAGateMakesBoxesOfWhatWasNamedAlone) {
  const TempDir named, other;
  const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  const UniqueFd others(::open(other.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  Warden warden(warden_program(), {.boxes_of_a_kind = 0});
  warden.begin(WardenGate{.mounts = {{named.path(), true}}, .images = test_image().parent_path()});
  const auto with = [&](const fs::path& host, bool is_read_only) {
    BoxPlan wanted = plan();
    wanted.mounts = {{.host_path = host, .guest_path = "/m", .is_read_only = is_read_only}};
    return wanted;
  };
  EXPECT_TRUE(warden.make(with(named.path(), true))->files().stat("/m").ok());
  EXPECT_THROW((void)warden.make(with(named.path(), false)), Error);
  EXPECT_THROW((void)warden.make(with(other.path(), true)), Error);
  EXPECT_THROW((void)warden.make(with("/", true)), Error);
  for (const UniqueFd* folder : {&root, &others}) {
    BoxPlan of_host = plan();
    of_host.begin_with = folder->get();
    EXPECT_THROW((void)warden.make(of_host), Error);
    if (folder == &others) continue;  // where the image is
    of_host = plan();
    of_host.image = folder->get();
    EXPECT_THROW((void)warden.make(of_host), Error);
  }
  // A fork begins with what a box has changed.
  const auto box = warden.make(plan());
  EXPECT_EQ(run("echo kept >/workspace/f", box.get()), "");
  const auto pause = box->pause();
  ASSERT_TRUE(pause.ok());
  BoxPlan twin = plan();
  twin.begin_with = (*pause)->changes();
  EXPECT_EQ(run("cat /workspace/f", warden.make(twin).get()), "kept\n");
  end(warden_process(warden_process()));
  EXPECT_THROW((void)warden.make(with("/", true)), Error);
}

// Root's, which makes trees of folders of the host.
TEST_F(WardenTest, WhoseMounterHasEndedIsFollowedByAnother) {
  if (::geteuid() != 0) GTEST_SKIP() << "root alone has one";
  const TempDir folder;
  BoxPlan with_folder = plan();
  with_folder.mounts = {{.host_path = folder.path(), .guest_path = "/m"}};
  EXPECT_TRUE(warden_.make(with_folder)->files().stat("/m").ok());
  const auto box = warden_.make(plan());
  const std::string warden = std::to_string(warden_process());
  std::ifstream children("/proc/" + warden + "/task/" + warden + "/children");
  pid_t mounter = 0;  // before any box
  children >> mounter;
  end(mounter);
  EXPECT_TRUE(warden_.make(with_folder)->files().stat("/m").ok());
  EXPECT_FALSE(box->usage().ok());
}

// What Cloche ends by itself is no trouble.
TEST_F(WardenTest, ABoxThatWasEndedHereSaysNothing) {
  const std::unique_ptr<Box> box = warden_.make(plan());
  box->end();
  wait_for_end(*box);
  EXPECT_EQ(box->why_ended(), "");
}

}  // namespace
}  // namespace cloche::native
