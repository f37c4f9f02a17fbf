// SPDX-License-Identifier: Apache-2.0
#include "doors/grading/gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cloche::grading {
namespace {

using namespace std::chrono_literals;

class GateTest : public ::testing::Test {
 protected:
  Gate::Job job(int number, std::latch& begun, std::latch& may_end) {
    return {.owner = {},
            .work =
                [this, number, &begun, &may_end] {
                  most_ = std::max(most_.load(), ++now_);
                  {
                    const std::lock_guard lock(mutex_);
                    order_.push_back(number);
                  }
                  begun.count_down();
                  may_end.wait();
                  --now_;
                },
            .refused = [this] { ++refused_; }};
  }

  std::atomic<int> now_ = 0;
  std::atomic<int> most_ = 0;
  std::atomic<int> refused_ = 0;
  std::mutex mutex_;
  std::vector<int> order_;
};

TEST_F(GateTest, EndsAfterTheJobsThatAreInProgress) {
  session::WorkerPool workers(4);
  for (int i = 0; i < 200; ++i) {
    std::atomic<bool> has_ended = false;
    std::latch begun(1);
    {
      Gate gate(workers, {.running = 1});
      workers.post([&] {
        gate.enter({.owner = "one",
                    .work =
                        [&] {
                          begun.count_down();
                          std::this_thread::yield();
                          has_ended = true;
                        },
                    .refused = [] {}});
      });
      begun.wait();
    }
    ASSERT_TRUE(has_ended);
  }
}

TEST_F(GateTest, AJobThatThrowsKeepsNoPlace) {
  session::WorkerPool workers(4);
  Gate gate(workers, {.running = 1});
  const auto throwing = [](Gate::Patience patience) {
    return Gate::Job{.owner = "one",
                     .work = [] { throw std::runtime_error("no"); },
                     .refused = [] {},
                     .patience = patience};
  };
  EXPECT_NO_THROW(gate.enter(throwing(Gate::Patience::limited)));
  EXPECT_EQ(gate.running(), 0U);
  gate.enter(throwing(Gate::Patience::endless));
  std::latch ended(1);
  gate.enter({.owner = "one",
              .work = [&] { ended.count_down(); },
              .refused = [] {},
              .patience = Gate::Patience::endless});
  ended.wait();
}

TEST_F(GateTest, RunsSoManyAtOnceAndTheOthersInOrder) {
  constexpr int count = 20;
  std::latch begun(count);
  std::latch may_end(1);
  {
    session::WorkerPool workers(8);
    Gate gate(workers, {.running = 2});
    for (int i = 0; i < count; ++i) workers.post([&, i] { gate.enter(job(i, begun, may_end)); });
    may_end.count_down();
    begun.wait();
  }
  EXPECT_LE(most_, 2);
  EXPECT_EQ(order_.size(), count);
  EXPECT_EQ(refused_, 0);
}

TEST_F(GateTest, RefusesWhatThereIsNoRoomFor) {
  std::latch first(1);
  std::latch rest(2);
  std::latch may_end(1);
  {
    session::WorkerPool workers(8);
    Gate gate(workers, {.running = 1, .waiting = 1, .waiting_bytes = 10});
    workers.post([&] { gate.enter(job(0, first, may_end)); });
    first.wait();
    Gate::Job large = job(1, rest, may_end);
    large.bytes = 11;
    gate.enter(std::move(large));
    EXPECT_EQ(refused_, 1);
    gate.enter(job(2, rest, may_end));
    EXPECT_EQ(gate.waiting(), 1U);
    gate.enter(job(3, rest, may_end));
    EXPECT_EQ(refused_, 2);
    Gate::Job patient = job(4, rest, may_end);
    patient.patience = Gate::Patience::endless;
    gate.enter(std::move(patient));
    EXPECT_EQ(refused_, 2);
    may_end.count_down();
    rest.wait();
  }
  EXPECT_EQ(order_, (std::vector{0, 2, 4}));
}

TEST_F(GateTest, OneOwnersThatWaitLeaveRoomToOthers) {
  std::latch first(2);
  std::latch rest(5);
  std::latch may_end(1);
  const auto of = [&](const char* owner, std::uint64_t bytes, std::latch& begun) {
    Gate::Job one = job(0, begun, may_end);
    one.owner = owner;
    one.bytes = bytes;
    return one;
  };
  {
    session::WorkerPool workers(16);
    Gate gate(workers, {.running = 1, .waiting = 5, .waiting_bytes = 100});  // of which one has 4
    for (const char* owner : {"ann", "bob"})
      workers.post([&, owner] { gate.enter(of(owner, 0, first)); });
    first.wait();
    gate.enter(of("ann", 80, rest));  // more than one may have
    EXPECT_EQ(refused_, 1);
    gate.enter(of("ann", 70, rest));
    gate.enter(of("ann", 10, rest));
    EXPECT_EQ(refused_, 2);
    for (int i = 0; i < 3; ++i) gate.enter(of("ann", 0, rest));
    gate.enter(of("ann", 0, rest));
    EXPECT_EQ(refused_, 3);
    gate.enter(of("bob", 30, rest));
    EXPECT_EQ(refused_, 3);
    may_end.count_down();
    rest.wait();
  }
}

TEST_F(GateTest, RefusesWhatHasWaitedTooLong) {
  std::latch first(1);
  std::latch last(1);
  std::latch may_end(1);
  std::latch never(1);
  {
    session::WorkerPool workers(8);
    Gate gate(workers, {.running = 1, .patience = -1ms});
    workers.post([&] { gate.enter(job(0, first, may_end)); });
    first.wait();
    gate.enter(job(1, never, may_end));
    Gate::Job patient = job(2, last, may_end);
    patient.patience = Gate::Patience::endless;
    gate.enter(std::move(patient));
    may_end.count_down();
    last.wait();
  }
  EXPECT_EQ(refused_, 1);
  EXPECT_EQ(order_, (std::vector{0, 2}));
}

// Also where nothing ends meanwhile.
TEST_F(GateTest, RefusesWhatWaitsWhileNothingEnds) {
  std::latch first(1);
  std::latch never(1);
  std::latch may_end(1);
  std::latch told(1);
  {
    session::WorkerPool workers(8);
    Gate gate(workers, {.running = 1, .patience = 20ms});
    workers.post([&] { gate.enter(job(0, first, may_end)); });
    first.wait();
    Gate::Job waiting = job(1, never, may_end);
    waiting.refused = [&] { told.count_down(); };
    gate.enter(std::move(waiting));
    told.wait();
    EXPECT_EQ(gate.waiting(), 0U);
    may_end.count_down();
  }
  EXPECT_EQ(order_, std::vector{0});
}

TEST_F(GateTest, AnOwnerThatHasNoneGetsAPlaceWhereAnotherHasThemAll) {
  std::latch hoarded(2);
  std::latch others(2);
  std::latch rest(3);
  std::latch may_end(1);
  {
    session::WorkerPool workers(16);
    Gate gate(workers, {.running = 2});
    for (int i = 0; i < 2; ++i) workers.post([&, i] { gate.enter(job(i, hoarded, may_end)); });
    hoarded.wait();
    for (int i = 2; i < 4; ++i) gate.enter(job(i, rest, may_end));
    for (const char* owner : {"b", "c", "d"}) {
      Gate::Job one = job(10 + owner[0], owner[0] < 'd' ? others : rest, may_end);
      one.owner = owner;
      workers.post([&gate, one] { gate.enter(one); });
      if (owner[0] == 'c') others.wait();
    }
    while (gate.waiting() < 3) std::this_thread::yield();
    EXPECT_EQ(gate.running(), 4U);
    may_end.count_down();
    rest.wait();
  }
  EXPECT_EQ(refused_, 0);
  EXPECT_EQ(order_.size(), 7U);
}

TEST_F(GateTest, RefusesAllOnceItIsClosed) {
  std::latch first(1);
  std::latch never(1);
  std::latch may_end(1);
  {
    session::WorkerPool workers(8);
    Gate gate(workers, {.running = 1});
    workers.post([&] { gate.enter(job(0, first, may_end)); });
    first.wait();
    gate.enter(job(1, never, may_end));
    gate.close();
    gate.enter(job(2, never, may_end));
    EXPECT_EQ(refused_, 2);
    may_end.count_down();
  }
  EXPECT_EQ(order_, std::vector{0});
}

}  // namespace
}  // namespace cloche::grading
