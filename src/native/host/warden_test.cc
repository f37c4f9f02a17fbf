// SPDX-License-Identifier: Apache-2.0
#include "native/host/warden.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
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

// What Cloche ends by itself is no trouble.
TEST_F(WardenTest, ABoxThatWasEndedHereSaysNothing) {
  const std::unique_ptr<Box> box = warden_.make(plan());
  box->end();
  wait_for_end(*box);
  EXPECT_EQ(box->why_ended(), "");
}

}  // namespace
}  // namespace cloche::native
