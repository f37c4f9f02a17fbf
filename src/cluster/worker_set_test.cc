// SPDX-License-Identifier: Apache-2.0
#include "cluster/worker_set.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "base/descriptor_channel.h"
#include "base/host_error.h"
#include "base/refused_threads_testing.h"
#include "base/temp_dir_testing.h"
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

// More of them than fit into the channel while nobody reads it.
TEST(Spawner, EveryEndIsTold) {
  constexpr CellKey count = 600;
  Spawner::Options options;
  sigemptyset(&options.signals);
  Spawner spawner(options, [](const WorkerTask&) { return 0; });
  std::vector<UniqueFd> channels;
  while (channels.size() < count) {
    try {
      channels.push_back(spawner.start(static_cast<CellKey>(channels.size() + 1), "a"));
    } catch (const HostError&) {
      std::this_thread::yield();  // it has as many orders as fit
    }
  }
  for (const UniqueFd& channel : channels) EXPECT_FALSE(receive_message(channel.get()));
  std::atomic<std::size_t> told = 0;
  std::thread reader([&] {
    while (spawner.wait()) ++told;
  });
  EXPECT_TRUE(testing::within_a_minute([&] { return told == count; })) << told;
  spawner.stop();
  reader.join();
}

TEST(WorkerSet, OneThatTakesNoConnectionIsOneOfAll) {
  Spawner::Options options;
  sigemptyset(&options.signals);
  Spawner spawner(options, [](const WorkerTask&) -> int {
    for (;;) ::pause();
  });
  WorkerSet workers(spawner, {.limit = 1});
  std::vector<UniqueFd> given;
  for (;;) {
    auto connected = workers.connect("a");
    auto* const fd = std::get_if<UniqueFd>(&connected);
    if (!fd) break;
    given.push_back(std::move(*fd));
  }
  ASSERT_FALSE(given.empty());
  const auto all = workers.connect_all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].second);
  spawner.kill(all[0].first);
}

TEST(WorkerSet, IsNoneWhereAThreadOfItsIsRefused) {
#if defined(CLOCHE_SANITIZED)
  GTEST_SKIP() << "nothing is refused under sanitizers";
#endif
  Spawner::Options options;
  sigemptyset(&options.signals);
  for (const int given : {0, 1}) {
    Spawner spawner(options, stay);
    const RefusedThreads rest(given);
    EXPECT_THROW(WorkerSet(spawner, {.limit = 1}), HostError) << given;
  }
}

TEST(WorkerSet, WhoWantsAPlaceIsNotKeptWaitingAgainByOneThatIsSilent) {
  void* const shared = ::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const questions = new (shared) std::atomic<int>(0);
  Spawner::Options options;
  sigemptyset(&options.signals);
  Spawner spawner(options, [&](const WorkerTask& task) {
    while (const std::optional<ChannelMessage> asked = receive_message(task.channel.get()))
      *questions += asked->text.starts_with(question_message) ? 1 : 0;
    return 0;
  });
  {
    WorkerSet workers(spawner, {.limit = 1});
    ASSERT_TRUE(std::holds_alternative<UniqueFd>(workers.connect("a")));
    for (const char* owner : {"b", "c", "d"}) {
      const auto refused = workers.connect(owner);
      ASSERT_TRUE(std::holds_alternative<NoWorker>(refused));
      EXPECT_EQ(std::get<NoWorker>(refused).why, NoWorker::Why::full);
    }
    EXPECT_EQ(*questions, 1);
  }
  ::munmap(shared, sizeof(std::atomic<int>));
}

// With a key goes a folder of sessions.
TEST(WorkerSet, NobodyGetsTheKeyOfSomebodyElsesSessions) {
  const TempDir folder;
  const std::string path = folder.path();
  std::filesystem::create_directories(path + "/1");
  std::ofstream(path + "/1/11111111-2222-4333-8444-555555550001.session.damaged") << "somebody's";
  std::filesystem::create_directories(path + "/2");
  std::ofstream(path + "/2/lock") << "of one that had no session any more";
  Spawner::Options options;
  sigemptyset(&options.signals);
  Spawner spawner(options, [](const WorkerTask& task) { return stay(task); });
  {
    WorkerSet workers(spawner, {.limit = 2, .state_folder = path});
    ASSERT_TRUE(std::holds_alternative<UniqueFd>(workers.connect("a")));
    EXPECT_EQ(workers.key_of("a"), std::optional<CellKey>(2));
    for (const auto& [key, fd] : workers.connect_all()) spawner.kill(key);
  }
  std::filesystem::remove(path + "/workers");
  ASSERT_EQ(::mkfifo((path + "/workers").c_str(), 0600), 0);
  EXPECT_THROW(WorkerSet(spawner, {.limit = 1, .state_folder = path}), HostError);
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
