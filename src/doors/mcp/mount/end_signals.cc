// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/end_signals.h"

#include <signal.h>

#include <thread>
#include <utility>

namespace cloche::mcp::mount {

EndSignals::EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) {
    struct sigaction now{};
    // One that is ignored (nohup) is not waited for either.
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_IGN)
      sigaddset(&signals, number);
  }
  (void)::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::thread([state = state_, signals] {
    int number = 0;
    if (::sigwait(&signals, &number) != 0) return;
    {
      const MutexLock lock(state->mutex);
      if (state->first) state->first();
    }
    (void)::signal(number, SIG_DFL);
    (void)::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    (void)::raise(number);
  }).detach();
}

void EndSignals::set(std::function<void()> first) {
  const MutexLock lock(state_->mutex);
  state_->first = std::move(first);
}

}  // namespace cloche::mcp::mount
