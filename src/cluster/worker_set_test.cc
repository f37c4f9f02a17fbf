// SPDX-License-Identifier: Apache-2.0
#include "cluster/worker_set.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/descriptor_channel.h"
#include "base/waiting_testing.h"

namespace cloche::cluster {
namespace {

// Says that it has nothing whenever it is asked, and stays when its channel has ended.
int stay(const WorkerTask& task) {
  while (const std::optional<ChannelMessage> asked = receive_message(task.channel.get())) {
    if (!asked->text.starts_with(question_message)) continue;
    (void)send_message(task.channel.get(),
                       std::string(idle_message) + asked->text.substr(question_message.size()));
  }
  for (;;) ::pause();
}

TEST(WorkerSet, OneThatDoesNotEndLosesItsPlace) {
  Spawner::Options options;
  sigemptyset(&options.signals);
  Spawner spawner(options, [](const WorkerTask& task) { return stay(task); });
  WorkerSet workers(
      spawner,
      {.limit = 1, .idle = std::chrono::milliseconds(40), .ending = std::chrono::milliseconds(40)});
  const auto is_reached = [&](const char* owner) {
    return std::holds_alternative<UniqueFd>(workers.connect(owner));
  };
  ASSERT_TRUE(is_reached("a"));
  EXPECT_TRUE(testing::within_a_minute([&] { return workers.count() == 0; }))
      << "nobody asks for it";
  EXPECT_TRUE(testing::within_a_minute([&] { return is_reached("b"); }));
}

}  // namespace
}  // namespace cloche::cluster
