// SPDX-License-Identifier: Apache-2.0
// A host that gives no threads: what needs one is refused, what is refused leaves nothing, and what
// runs can be ended.
#include <gtest/gtest.h>

#include <future>

#include "base/refused_threads_testing.h"
#include "kernel/kernel.h"
#include "kernel/kernel_testing.h"
#include "wasm/guest_threads.h"
#include "wasm/run_here.h"

#if !defined(CLOCHE_SANITIZED)

namespace cloche::kernel {
namespace {

// The pool's idle threads have work until this goes: who wants one asks the host.
class NoIdleThreads {
 public:
  explicit NoIdleThreads(wasm::GuestThreads& threads) {
    while (threads.idle_count() > 0) EXPECT_TRUE(threads.run([ended = ended_] { ended.wait(); }));
  }
  ~NoIdleThreads() { end_.set_value(); }
  NoIdleThreads(const NoIdleThreads&) = delete;
  NoIdleThreads& operator=(const NoIdleThreads&) = delete;

 private:
  std::promise<void> end_;
  const std::shared_future<void> ended_ = end_.get_future().share();
};

class RefusedThread : public ::testing::Test {
 protected:
  RefusedThread() {
    machine_.add_program("/bin/program", R"((module (memory 1) (func (export "_start"))))");
    // Loads it: its compiler has threads of its own.
    request_.begin = SpawnRequest::Begin::parked;
    parked_ = *kernel().spawn(request_);
    request_.begin = SpawnRequest::Begin::at_once;
  }
  Kernel& kernel() { return machine_.kernel(); }

  TestKernel machine_;
  SpawnRequest request_{.path = "/bin/program"};
  ProcessPtr parked_;
};

TEST_F(RefusedThread, IsAnErrorOfTheSpawnWhichLeavesNothing) {
  const NoIdleThreads busy(kernel().services().threads);
  {
    const RefusedThreads refused;
    EXPECT_EQ(kernel().spawn(request_).error(), Errno::again);
    EXPECT_EQ(kernel().process_count(), 1U);
  }
  EXPECT_EQ(machine_.run(request_).shell_status(), 0);
}

TEST_F(RefusedThread, LeavesAParkedProcessParked) {
  const NoIdleThreads busy(kernel().services().threads);
  {
    const RefusedThreads refused;
    const KernelLock lock(kernel().mutex());
    EXPECT_EQ(kernel().resume(*parked_).error(), Errno::again);
    EXPECT_FALSE(parked_->status);
  }
  {
    const KernelLock lock(kernel().mutex());
    EXPECT_TRUE(kernel().resume(*parked_));
  }
  EXPECT_EQ(machine_.wait(parked_).shell_status(), 0);
}

TEST_F(RefusedThread, IsNotNeededWhereTheCallersOwnServes) {
  const NoIdleThreads busy(kernel().services().threads);
  const RefusedThreads refused;
  wasm::RunHere here;
  const Result<ProcessPtr> process = kernel().spawn(request_, &here);
  ASSERT_TRUE(process);
  ASSERT_TRUE(here.caught());
  here.run();
  EXPECT_EQ(machine_.wait(*process).shell_status(), 0);
}

TEST_F(RefusedThread, KeepsNoJobFromBeingKilled) {
  const NoIdleThreads busy(kernel().services().threads);
  const RefusedThreads refused;
  kernel().kill_job(parked_->job);
  ASSERT_TRUE(parked_->status);
  EXPECT_EQ(parked_->status->term_signal(), sigkill);
}

}  // namespace
}  // namespace cloche::kernel

#endif
