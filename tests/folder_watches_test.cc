// SPDX-License-Identifier: Apache-2.0
// Folders that E2B's clients watch, where the sandbox is paused or ends while a watch begins, and
// where a client does not read.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

#include "doors/e2b/watches.h"
#include "doors/http/exchange_testing.h"
#include "sandbox_testing.h"

namespace cloche::e2b {
namespace {

// Who is told of changes; what it has not read is as much as the test says.
class Client final : public http::UnexpectedExchange {
 public:
  std::shared_ptr<http::AnswerStream> begin(http::Response, http::StreamOptions options) override {
    options_ = std::move(options);
    return std::shared_ptr<http::AnswerStream>(&answer_, [](http::AnswerStream*) {});
  }

  void leave_unread(std::size_t bytes) {
    answer_.unread = bytes;
    if (bytes == 0) options_.changed();
  }
  void wait_for(std::string_view word) {
    std::unique_lock lock(mutex_);
    heard_more_.wait(lock, [&] { return heard_.find(word) != std::string::npos; });
  }
  bool has_heard(std::string_view word) {
    const std::lock_guard lock(mutex_);
    return heard_.find(word) != std::string::npos;
  }

 private:
  struct Answer final : http::AnswerStream {
    explicit Answer(Client& its_client) : client(its_client) {}
    void write(std::string bytes) override {
      const std::lock_guard lock(client.mutex_);
      client.heard_ += bytes;
      client.heard_more_.notify_all();
    }
    void end() override { write("the end"); }
    void break_off() override { write("broken off"); }
    void call_changed() override { client.loop_.post(client.options_.changed); }
    std::size_t unsent_bytes() const override { return unread; }
    bool gone() const override { return false; }
    Client& client;
    std::atomic<std::size_t> unread = 0;
  };

  http::StreamOptions options_;
  Answer answer_{*this};
  std::mutex mutex_;
  std::condition_variable heard_more_;
  std::string heard_;
  session::WorkerPool loop_{1};
};

class FolderWatches : public ::testing::Test {
 protected:
  session::Session::Use use() { return session::Session::use(session_); }
  static std::string error_of(const CallResult<std::string>& made) {
    const auto* error = std::get_if<CallError>(&made);
    return error ? std::string(error->code) : "";
  }

  const std::shared_ptr<session::Session> session_ = std::make_shared<session::Session>(
      session::Facts{}, session::Twin{testing::make_sandbox(), nullptr}, session::SteadyTime::max(),
      host_clock());
  // Waits until the one thread there is has nothing to do.
  void wait_for_workers() {
    std::atomic<bool> done = false;
    workers_.post([&done] {
      done = true;
      done.notify_all();
    });
    done.wait(false);
  }

  session::WorkerPool workers_{1};
  session::Timers timers_;
  const std::shared_ptr<Watches> watches_ = std::make_shared<Watches>(workers_, timers_);
  const WatchWish wish_{.path = "/workspace"};
};

TEST_F(FolderWatches, NoneIsLeftOfASandboxThatWasPausedMeanwhile) {
  const auto begun = use();
  EXPECT_TRUE(begun.is_current());
  ASSERT_TRUE(session_->pause([] {}));
  EXPECT_FALSE(begun.is_current());
  EXPECT_EQ(error_of(watches_->create(begun, wish_)), "unavailable");
  ASSERT_TRUE(session_->resume());
  EXPECT_FALSE(begun.is_current());
  EXPECT_EQ(error_of(watches_->create(begun, wish_)), "unavailable");
  EXPECT_EQ(error_of(watches_->create(use(), wish_)), "");
}

TEST_F(FolderWatches, OfWhatIsOverNoneTakesAPlace) {
  {
    const auto begun = use();
    ASSERT_TRUE(session_->pause([] {}));
    for (std::size_t turn = 0; turn <= Watches::watches_max; ++turn)
      EXPECT_EQ(error_of(watches_->create(begun, wish_)), "unavailable");
  }
  ASSERT_TRUE(session_->resume());
  for (std::size_t turn = 0; turn < Watches::watches_max; ++turn)
    EXPECT_EQ(error_of(watches_->create(use(), wish_)), "");
  EXPECT_EQ(error_of(watches_->create(use(), wish_)), "resource_exhausted");
}

TEST_F(FolderWatches, WhoDoesNotReadIsWaitedForByNoThread) {
  constexpr std::size_t too_much = 2 << 20;
  Client client;
  const auto stream = EventStream::begin(client, std::chrono::seconds(0), connect_form());
  watches_->start(use(), wish_, stream, std::nullopt);
  client.wait_for("start");
  ASSERT_TRUE(use()->files().write("first", "1"));
  client.wait_for("first");
  client.leave_unread(too_much);
  for (const char* name : {"second", "third", "fourth"}) {
    ASSERT_TRUE(use()->files().write(name, "1"));
    wait_for_workers();
  }
  EXPECT_FALSE(client.has_heard("second"));
  client.leave_unread(0);
  client.wait_for("fourth");
  EXPECT_TRUE(client.has_heard("second"));
  watches_->stop({"unavailable", "over"});
  EXPECT_TRUE(client.has_heard("the end"));
}

}  // namespace
}  // namespace cloche::e2b
