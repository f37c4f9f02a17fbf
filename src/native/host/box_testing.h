// SPDX-License-Identifier: Apache-2.0
// A test that has boxes of the image of test_image_testing.h.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "native/host/box.h"
#include "native/host/warden.h"

namespace cloche::native {

class BoxTest : public testing::Test {
 protected:
  void SetUp() override;

  BoxPlan plan() const { return {.image = image_.get(), .limits = {.processes = 64}}; }

  struct Started {
    std::unique_ptr<Command> command;
    UniqueFd output;
  };
  // By bash, in `box`, or box_.
  Started start(const std::string& script, Box* box = nullptr);
  // What it writes, to the end.
  std::string run(const std::string& script, Box* box = nullptr);

  // Of the largest process of a new box, which has 64 MiB.
  void expect_an_end_at_the_memory_limit();

  static warden::Answer next(Command& command);
  static std::string read_all(const UniqueFd& from);

  // The process of warden_, or of another process's warden, and pid 1 of all of its boxes.
  static pid_t warden_process(pid_t of = ::getpid());
  static std::vector<pid_t> box_processes(pid_t of = ::getpid());

  Warden warden_;
  UniqueFd image_;
  std::unique_ptr<Box> box_;

  BoxTest();
};

}  // namespace cloche::native
