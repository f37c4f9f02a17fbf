// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/signal.h"

#include <gtest/gtest.h>

namespace cloche::kernel {
namespace {

SignalInfo info(int signo, std::uint32_t value = 0) { return {.signo = signo, .value = value}; }

TEST(SignalState, StandardSignalsAreQueuedOnce) {
  SignalState state;
  EXPECT_TRUE(state.enqueue(info(sigterm)));
  EXPECT_TRUE(state.enqueue(info(sigterm)));
  EXPECT_TRUE(state.dequeue(SignalSet::of(sigterm)));
  EXPECT_FALSE(state.dequeue(SignalSet::of(sigterm)));
  EXPECT_TRUE(state.pending().empty());
}

TEST(SignalState, RealTimeSignalsAreQueuedInOrderUpToALimit) {
  SignalState state;
  for (std::uint32_t i = 0; i < SignalState::max_queued; ++i)
    ASSERT_TRUE(state.enqueue(info(sigrtmin, i)));
  EXPECT_FALSE(state.enqueue(info(sigrtmin)));
  EXPECT_EQ(state.dequeue(SignalSet::of(sigrtmin))->value, 0u);
  EXPECT_EQ(state.dequeue(SignalSet::of(sigrtmin))->value, 1u);
  EXPECT_TRUE(state.pending().has(sigrtmin));
}

// A guest that fills its queue must not be out of SIGKILL's reach.
TEST(SignalState, AFullQueueHasRoomForStandardSignals) {
  SignalState state;
  state.mask = SignalSet(~std::uint64_t{0});
  while (state.enqueue(info(sigrtmin))) {
  }
  for (int signo = 1; signo < sigrtmin; ++signo) EXPECT_TRUE(state.enqueue(info(signo))) << signo;
  EXPECT_FALSE(state.enqueue(info(sigrtmin)));
  EXPECT_TRUE(state.deliverable().has(sigkill));
}

TEST(SignalState, TheLowestNumberComesFirst) {
  SignalState state;
  ASSERT_TRUE(state.enqueue(info(sigterm)));
  ASSERT_TRUE(state.enqueue(info(sighup)));
  EXPECT_EQ(state.dequeue(state.deliverable())->signo, sighup);
}

TEST(SignalState, MaskHoldsBackAllButKillAndStop) {
  SignalState state;
  state.mask = SignalSet(~std::uint64_t{0});
  for (const int signo : {sigterm, sigkill, sigstop}) ASSERT_TRUE(state.enqueue(info(signo)));
  EXPECT_EQ(state.deliverable().bits(), unblockable.bits());
}

TEST(SignalState, ExecKeepsIgnoredAndDropsHandlers) {
  SignalState state;
  state.disposition(sigint).handler = Disposition::ign;
  state.disposition(sigterm) = {.handler = 42, .flags = sa_restart, .mask = SignalSet::of(sighup)};
  state.reset_for_exec();
  EXPECT_TRUE(state.ignored(sigint));
  EXPECT_EQ(state.disposition(sigterm).handler, Disposition::dfl);
  EXPECT_TRUE(state.disposition(sigterm).mask.empty());
}

TEST(SignalState, AChildInheritsNoPendingSignals) {
  SignalState state;
  state.mask = SignalSet::of(sigusr1);
  ASSERT_TRUE(state.enqueue(info(sigusr1)));
  const SignalState child = state.for_child();
  EXPECT_TRUE(child.pending().empty());
  EXPECT_TRUE(child.mask.has(sigusr1));
}

}  // namespace
}  // namespace cloche::kernel
