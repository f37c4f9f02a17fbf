// SPDX-License-Identifier: Apache-2.0
#include "kernel/files/epoll.h"

#include <gtest/gtest.h>

#include <array>

#include "kernel/files/poll_set.h"

namespace cloche::kernel {
namespace {

// Is never ready, and counts who asks.
class Asked final : public File {
 public:
  Asked() : File(o_rdwr) {}
  PollEvents poll() override {
    ++count;
    return 0;
  }
  WaitQueue* poll_queue() override { return &changed_; }
  Result<vfs::Stat> stat() override { return Errno::inval; }
  std::string description() const override { return "asked"; }

  std::size_t count = 0;

 private:
  WaitQueue changed_;
};

std::shared_ptr<EpollFile> make(std::uint64_t id) {
  return std::make_shared<EpollFile>(std::make_shared<BufferBudget>(), id);
}

// Four levels of epoll files, each of which watches the next one four times, and the last a file
// 2,000 times: half a million ways to it.
struct Tree {
  Tree() {
    for (std::size_t level = 0; level + 1 < levels.size(); ++level) {
      levels[level + 1] = make(level + 1);
      const FilePtr below = levels[level];
      for (int fd = 0; fd < EpollFile::max_epoll_entries; ++fd)
        EXPECT_TRUE(levels[level + 1]->add(fd, below, {.events = pollin}));
    }
    for (int fd = 0; fd < 2000; ++fd) EXPECT_TRUE(levels[0]->add(fd, leaf, {.events = pollin}));
  }

  const std::shared_ptr<Asked> leaf = std::make_shared<Asked>();
  std::array<std::shared_ptr<EpollFile>, 5> levels{make(0)};
};

TEST(EpollLook, OneLookVisitsSoManyEntriesAtMost) {
  const Tree tree;
  EXPECT_EQ(tree.levels.back()->poll(), 0U);
  EXPECT_GT(tree.leaf->count, 2000U);
  EXPECT_LE(tree.leaf->count, EpollLook::max_visits);
}

TEST(EpollLook, SeveralFilesShareOne) {
  const Tree tree;
  {
    const EpollLook look;
    for (int i = 0; i < 50; ++i) EXPECT_EQ(tree.levels.back()->poll(), 0U);
    PollSources sources;
    for (int i = 0; i < 50; ++i) tree.levels.back()->poll_sources(sources);
    EXPECT_LE(sources.queues.size(), EpollLook::max_visits);
  }
  EXPECT_LE(tree.leaf->count, EpollLook::max_visits);
  // The next look begins anew.
  EXPECT_EQ(tree.levels.back()->poll(), 0U);
  EXPECT_GT(tree.leaf->count, EpollLook::max_visits / 2);
}

TEST(EpollLook, WatchingATreeIsRefusedWhenItIsTooLarge) {
  const Tree tree;
  const auto above = make(9);
  EXPECT_EQ(above->add(1, tree.levels.back(), {.events = pollin}).error(), Errno::loop);
}

TEST(EpollFile, EntriesTakeFromTheBudgetAndGiveBack) {
  constexpr std::uint64_t room = 8 * EpollFile::entry_bytes;
  const auto budget = std::make_shared<BufferBudget>(room);
  auto leaf = std::make_shared<Asked>();
  {
    EpollFile epoll(budget, 1);
    int fd = 0;
    while (epoll.add(fd, leaf, {.events = pollin})) ++fd;
    EXPECT_EQ(fd, static_cast<int>(EpollFile::free_entries) + 8);
    EXPECT_EQ(budget->used_bytes(), room);
    EXPECT_EQ(epoll.add(fd, leaf, {.events = pollin}).error(), Errno::nospc);
    // Another one still has its first entries.
    EpollFile second(budget, 2);
    EXPECT_TRUE(second.add(1, leaf, {.events = pollin}));
    ASSERT_TRUE(epoll.remove(0, leaf));
    EXPECT_TRUE(epoll.add(fd, leaf, {.events = pollin}));
  }
  EXPECT_EQ(budget->used_bytes(), 0U);
}

}  // namespace
}  // namespace cloche::kernel
