// SPDX-License-Identifier: Apache-2.0
// Files that several threads of the host write at the same time, in sandboxes of both engines.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "cloche/files.h"
#include "engines_testing.h"

namespace cloche {
namespace {

// More than goes to a box in one piece.
constexpr std::size_t content_bytes = 300'000;

class WrittenTogether : public testing::OnEachEngine {
 protected:
  void SetUp() override {
    OnEachEngine::SetUp();
    if (!IsSkipped()) sandbox_ = make_sandbox();
  }
  Files& files() { return sandbox_->files(); }

  // What writer number `which` writes: of a length of its own.
  static std::string content_of(int which) {
    return std::string(content_bytes + static_cast<std::size_t>(which) * 100'000,
                       static_cast<char>('a' + which));
  }
  static bool is_one(const std::string& content) {
    return !content.empty() && content == content_of(content.front() - 'a');
  }
  template <typename Body>
  static void by_threads(int count, Body body) {
    std::vector<std::jthread> threads;
    threads.reserve(static_cast<std::size_t>(count));
    for (int which = 0; which < count; ++which)
      threads.emplace_back([&body, which] { body(which); });
  }

  std::unique_ptr<Sandbox> sandbox_;
};

TEST_P(WrittenTogether, AFileIsWhatOneOfThemHasWritten) {
  ASSERT_TRUE(files().write("f", content_of(0)));
  std::atomic<int> mixed = 0;
  by_threads(3, [&](int which) {
    for (int turn = 0; turn < 30; ++turn) {
      EXPECT_TRUE(files().write("f", content_of(which)));
      const auto content = files().read("f");
      if (!content || !is_one(*content)) ++mixed;
    }
  });
  EXPECT_EQ(mixed, 0);
  EXPECT_TRUE(is_one(*files().read("f")));
}

TEST_P(WrittenTogether, WhatIsAppendedStaysTogether) {
  by_threads(3, [&](int which) {
    for (int turn = 0; turn < 3; ++turn) EXPECT_TRUE(files().append("log", content_of(which)));
  });
  const std::string log = *files().read("log");
  for (std::size_t at = 0; at < log.size();) {
    const std::string content = content_of(log[at] - 'a');
    ASSERT_EQ(log.compare(at, content.size(), content), 0) << at;
    at += content.size();
  }
}

TEST_P(WrittenTogether, OneMakesAFileThatMayNotBeThere) {
  for (int turn = 0; turn < 10; ++turn) {
    const std::string name = "new" + std::to_string(turn);
    std::atomic<int> made = -1;
    by_threads(3, [&](int which) {
      const Result<void> written = files().write(name, content_of(which), 0600, IfThere::refuse);
      if (written) {
        EXPECT_EQ(made.exchange(which), -1);
      } else {
        EXPECT_EQ(written.error(), Errno::exist);
      }
    });
    ASSERT_NE(made, -1);
    EXPECT_EQ(*files().read(name), content_of(made));
    EXPECT_EQ(files().stat(name)->mode, 0600U);
  }
}

TEST_P(WrittenTogether, WhatIsThereIsNotRenamedOver) {
  ASSERT_TRUE(files().write("there", "kept"));
  ASSERT_TRUE(files().write("other", "moved"));
  EXPECT_EQ(files().rename("other", "there", IfThere::refuse).error(), Errno::exist);
  EXPECT_EQ(*files().read("there"), "kept");
  ASSERT_TRUE(files().rename("other", "free", IfThere::refuse));
  EXPECT_EQ(*files().read("free"), "moved");
  ASSERT_TRUE(files().make_directory("folder"));
  EXPECT_EQ(files().rename("free", "folder", IfThere::refuse).error(), Errno::exist);
  ASSERT_TRUE(files().make_symlink("nowhere", "link"));
  EXPECT_EQ(files().rename("free", "link", IfThere::refuse).error(), Errno::exist);
  ASSERT_TRUE(files().rename("free", "there"));
  EXPECT_EQ(*files().read("there"), "moved");
}

CLOCHE_ON_EACH_ENGINE(WrittenTogether);

}  // namespace
}  // namespace cloche
