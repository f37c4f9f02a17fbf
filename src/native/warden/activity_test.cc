// SPDX-License-Identifier: Apache-2.0
#include "native/warden/activity.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <ctime>
#include <functional>

namespace cloche::warden {
namespace {

constexpr int refused = 99;

int status_of(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// What `act` returns as pid 1 of processes of its own: what others here start is not seen.
int alone(const std::function<int()>& act) {
  const pid_t outer = ::fork();
  if (outer != 0) return status_of(outer);
  if (::unshare(::geteuid() == 0 ? CLONE_NEWPID : CLONE_NEWUSER | CLONE_NEWPID) != 0)
    ::_exit(refused);
  const pid_t inner = ::fork();
  if (inner == 0) ::_exit(act());
  ::_exit(status_of(inner));
}

std::int64_t own_time_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// A process that computes for some milliseconds whenever it is told to, and says so.
class Worker {
 public:
  Worker() {
    if (::pipe(orders_.data()) != 0 || ::pipe(answers_.data()) != 0) ::_exit(1);
    pid_ = ::fork();
    if (pid_ != 0) return;
    char order = 0;
    while (::read(orders_[0], &order, 1) == 1) {
      const std::int64_t end = own_time_ns() + work_ns;
      while (own_time_ns() < end) continue;
      (void)!::write(answers_[1], "d", 1);
    }
    ::_exit(0);
  }
  static constexpr std::int64_t work_ns = 3'000'000;
  pid_t pid() const { return pid_; }
  void work() const {
    char done = 0;
    (void)!::write(orders_[1], "w", 1);
    (void)!::read(answers_[0], &done, 1);
  }
  void end() const {
    ::kill(pid_, SIGKILL);
    (void)status_of(pid_);
  }

 private:
  std::array<int, 2> orders_{}, answers_{};
  pid_t pid_ = 0;
};

void look(Activity& activity, std::initializer_list<const Worker*> workers) {
  activity.begin();
  for (const Worker* worker : workers) activity.add(worker->pid());
}

// Until what has just begun, or has just answered, rests.
void look_at_rest(Activity& activity, std::initializer_list<const Worker*> workers) {
  do {
    look(activity, workers);
    ::usleep(1000);
  } while (activity.since_ns() != 0);
}

TEST(Activity, IsNoneWhereNothingRunsAndWhatItWasOtherwise) {
  const int status = alone([] {
    const Worker one, other;
    Activity activity;
    look_at_rest(activity, {&one, &other});
    if (activity.since_ns() != 0) return 1;
    other.work();
    const auto since = activity.since_ns();
    if (!since || *since < Worker::work_ns) return 2;
    look_at_rest(activity, {&one, &other});
    return activity.since_ns() == 0 ? 0 : 3;
  });
  if (status == refused) GTEST_SKIP() << "no processes of one's own here";
  EXPECT_EQ(status, 0);
}

TEST(Activity, IsNotKnownWhereThereAreOthersOrFewer) {
  const int status = alone([] {
    const Worker one;
    Activity activity;
    if (activity.since_ns()) return 1;  // nothing has been looked at
    look_at_rest(activity, {&one});
    const Worker other;
    if (activity.since_ns()) return 2;
    look_at_rest(activity, {&one, &other});
    other.end();
    if (activity.since_ns()) return 3;
    look(activity, {&other});
    return activity.since_ns() ? 4 : 0;
  });
  if (status == refused) GTEST_SKIP() << "no processes of one's own here";
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace cloche::warden
