// SPDX-License-Identifier: Apache-2.0
#include "wasm/preemption.h"

#include <pthread.h>
#include <signal.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/background_thread.h"
#include "base/check.h"
#include "base/mutex.h"
#include "base/thread_name.h"

namespace cloche::wasm {

// A thread that runs such guests, for as long as it lives.
struct GuestRunner {
  const pthread_t thread = pthread_self();
  // For who interrupts.
  std::atomic<const void*> owner{nullptr};
  std::atomic<bool> in_guest{false};
  std::atomic<bool> again{false};
  std::atomic<std::uint64_t> seen{0};   // of the interruptions: up to this one
  std::atomic<std::uint64_t> asked{0};  // the last one that was for it
  // For itself.
  PreemptedCall* call = nullptr;
  bool answering_signal = false;
  bool self_asked = false;
  int postponed = 0;

  bool is_unanswered() const noexcept { return in_guest && seen.load() < asked.load(); }
  // The guest stands still.
  Answer answer() noexcept;
  // The same where it is about to go on.
  Answer go_on_or_answer() noexcept { return go_on() ? Answer::go_on : answer(); }
  bool go_on() noexcept;

  static void handle(int, siginfo_t*, void* context) noexcept;
};

namespace {

constexpr auto first_delay = std::chrono::microseconds(250);
// What mostly is in the engine's code (memory.grow that fails, exceptions) is met seldom.
constexpr auto longest_delay = std::chrono::microseconds(500);
// Of one that has answered, and wants to be asked again.
constexpr auto longest_again = std::chrono::milliseconds(10);

constinit thread_local GuestRunner* own = nullptr;
constinit std::atomic<std::uint64_t> interruptions{0};

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
std::uintptr_t interrupted_at(const ucontext_t& context) noexcept {
  return static_cast<std::uintptr_t>(context.uc_mcontext.gregs[REG_RIP]);
}
void go_on_at(ucontext_t& context, std::uintptr_t address) noexcept {
  context.uc_mcontext.gregs[REG_RIP] = static_cast<greg_t>(address);
}
constexpr bool is_possible = true;
#else
// Other CPUs were not tried; and ThreadSanitizer delivers a signal later, at another instruction.
std::uintptr_t interrupted_at(const ucontext_t&) noexcept { return 0; }
void go_on_at(ucontext_t&, std::uintptr_t) noexcept {}
constexpr bool is_possible = false;
#endif

// All threads that have run such guests, and the one that repeats signals.
class Runners {
 public:
  bool begin() noexcept {
    if (!is_possible) return false;
    signal_ = take_signal();
    if (signal_ == 0) return false;
    // A host that gives no thread at this moment is asked again: without this one the interpreter
    // would be compiled anew, with checks, which takes minutes.
    for (int tries = 5; tries > 0; --tries) {
      try {
        background_thread(with_name("cloche-preempt", [this] { repeat(); })).detach();
        return true;
      } catch (const std::system_error&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
    return false;
  }

  void add(GuestRunner* runner) {
    const MutexLock lock(mutex_);
    all_.push_back(runner);
  }
  void remove(const GuestRunner* runner) noexcept {
    const MutexLock lock(mutex_);
    std::erase(all_, runner);
  }

  void interrupt(const void* owner) noexcept {
    const MutexLock lock(mutex_);
    const std::uint64_t number = interruptions.fetch_add(1) + 1;
    bool anybody = false;
    for (GuestRunner* runner : all_) {
      const void* const whose = runner->owner;
      if (whose == nullptr || (owner != nullptr && whose != owner)) continue;
      // One that has not answered yet gets its signal again by itself.
      const bool is_waiting = runner->seen.load() < runner->asked.exchange(number);
      if (!runner->in_guest) continue;
      if (!is_waiting) ask(*runner);
      anybody = true;
    }
    if (anybody) wake();
  }

  // For a runner that wants to be asked again. Not from a signal's handler with the mutex held: no
  // code of the host is under way there.
  void ask_later() noexcept {
    const MutexLock lock(mutex_);
    if (is_idle_) wake();
  }

  // The signal reaches the calling thread from now on, whatever its program has blocked.
  void let_through() const noexcept {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal_);
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  }

 private:
  // One that nobody uses; those at the end are the least likely to be.
  static int take_signal() noexcept {
    for (int signal = SIGRTMAX - 1; signal >= SIGRTMIN; --signal) {
      struct sigaction before{};
      if (sigaction(signal, nullptr, &before) != 0 || (before.sa_flags & SA_SIGINFO) != 0 ||
          before.sa_handler != SIG_DFL)
        continue;
      struct sigaction action{};
      action.sa_sigaction = GuestRunner::handle;
      // On the guest's own stack, which has room for it: the answer may be long. A host's call that
      // it meets goes on.
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      sigemptyset(&action.sa_mask);
      if (sigaction(signal, &action, nullptr) == 0) return signal;
    }
    return 0;
  }

  void ask(const GuestRunner& runner) const noexcept { (void)pthread_kill(runner.thread, signal_); }

  void wake() noexcept REQUIRES(mutex_) {
    waiting_ = true;
    changed_.notify_all();
  }

  void repeat() noexcept {
    const MutexLock lock(mutex_);
    for (;;) {
      is_idle_ = true;
      changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return waiting_; });
      is_idle_ = false;
      std::chrono::microseconds delay = first_delay;
      for (bool anybody = true; anybody;) {
        waiting_ = false;
        const bool one_more = changed_.wait_for(
            mutex_, delay, [&]() REQUIRES(mutex_) { return waiting_ && delay > first_delay; });
        if (one_more) {
          delay = first_delay;
          continue;
        }
        anybody = false;
        bool unanswered = false;
        for (const GuestRunner* runner : all_) {
          const bool is_unanswered = runner->is_unanswered();
          if (!is_unanswered && !(runner->in_guest && runner->again)) continue;
          ask(*runner);
          anybody = true;
          unanswered = unanswered || is_unanswered;
        }
        delay = std::min<std::chrono::microseconds>(2 * delay,
                                                    unanswered ? longest_delay : longest_again);
      }
    }
  }

  int signal_ = 0;
  Mutex mutex_;
  Condition changed_;
  std::vector<GuestRunner*> all_ GUARDED_BY(mutex_);
  bool waiting_ GUARDED_BY(mutex_) = false;
  bool is_idle_ GUARDED_BY(mutex_) = true;
};

// Never destroyed: threads run guests, and end, to the very end of the process.
Runners& runners() {
  static auto* const all = new Runners;
  return *all;
}

// The thread ends, and its runner has gone: what is destroyed later still may run guests.
constinit thread_local bool ending = false;

// Takes this thread's runner away with the thread.
struct OwnRunner {
  std::unique_ptr<GuestRunner> runner;
  ~OwnRunner() {
    ending = true;
    own = nullptr;
    if (runner) runners().remove(runner.get());
  }
};

GuestRunner& own_runner() {
  if (own != nullptr) return *own;
  auto runner = std::make_unique<GuestRunner>();
  runners().add(runner.get());
  own = runner.get();
  if (ending) {
    (void)runner.release();  // it stays behind, at rest
  } else {
    thread_local OwnRunner holder;
    holder.runner = std::move(runner);
  }
  return *own;
}

}  // namespace

bool Preemption::available() noexcept {
  static const bool is_there = runners().begin();
  return is_there;
}

void Preemption::interrupt(const void* owner) noexcept { runners().interrupt(owner); }

std::uint64_t Preemption::count() noexcept { return interruptions; }

Answer GuestRunner::answer() noexcept {
  for (;;) {
    in_guest = false;
    again = false;
    // Of the guest too: one that is called meanwhile begins with what came since.
    call->seen_ = interruptions.load();
    seen = call->seen_;
    const Answer answer = call->ask_(call->whom_);
    if (answer == Answer::end || answer == Answer::raise) return answer;
    if (answer == Answer::ask_again) {
      again = true;
      runners().ask_later();
    }
    if (!go_on()) continue;
    return Answer::go_on;
  }
}

// True: nothing has come meanwhile. Who interrupts counts first and then looks who is in a guest.
bool GuestRunner::go_on() noexcept {
  in_guest = true;
  return seen.load() == interruptions.load() && !std::exchange(self_asked, false);
}

void GuestRunner::handle(int, siginfo_t*, void* data) noexcept {
  GuestRunner* const self = own;
  if (self == nullptr || !self->in_guest) return;
  auto& context = *static_cast<ucontext_t*>(data);
  const PreemptedCall& call = *self->call;
  const std::uintptr_t address = interrupted_at(context);
  if (!call.code_.contains(address)) return;
  if (self->seen.load() == interruptions.load() && !self->again) return;
  // Some 30 ms: a loop that calls nothing may be in such a function.
  constexpr int most_postponed = 64;
  if (call.context_.is_known() && call.code_.catches(address) && self->postponed < most_postponed) {
    ++self->postponed;
    return;
  }
  self->postponed = 0;
  const int error = errno;
  self->answering_signal = true;
  const Answer answer = self->answer();
  self->answering_signal = false;
  if (answer == Answer::raise) {
    self->in_guest = true;  // its exits are not interrupted
    self->call->context_.go_on_raising(context, self->call->code_);
  } else if (answer == Answer::end) {
    go_on_at(context, self->call->code_.trap);
  }
  errno = error;
}

PreemptedCall::PreemptedCall(const NativeCode& code, const GuestContext& context,
                             std::uint64_t& seen, const void* owner, Ask ask, void* whom) noexcept
    : code_(code),
      context_(context),
      seen_(seen),
      ask_(ask),
      whom_(whom),
      outer_(own_runner().call),
      outer_owner_(own->owner),
      outer_seen_(own->seen),
      outer_answers_signal_(std::exchange(own->answering_signal, false)) {
  CLOCHE_CHECK(!own->in_guest);
  // A signal's handler has blocked it: the guest's own handler is interrupted as all its code is.
  if (outer_ == nullptr || outer_answers_signal_) runners().let_through();
  own->seen = seen_;
  own->call = this;
  own->owner = owner;
}

PreemptedCall::~PreemptedCall() {
  own->in_guest = false;
  own->again = false;
  seen_ = own->seen;
  own->owner = outer_owner_;
  own->call = outer_;
  own->seen = outer_seen_;
  own->answering_signal = outer_answers_signal_;
}

Answer PreemptedCall::begin() noexcept { return own->go_on_or_answer(); }

void PreemptedCall::ask_self() noexcept {
  if (own != nullptr && own->call != nullptr) own->self_asked = true;
}

HostSection::HostSection(bool is_preempted) noexcept : is_preempted_(is_preempted) {
  // Who interrupts and sees it late sends a signal that finds nothing to do.
  if (is_preempted_) own->in_guest.store(false, std::memory_order_release);
}

Answer HostSection::leave() noexcept {
  return is_preempted_ ? own->go_on_or_answer() : Answer::go_on;
}

void HostSection::leave_raising() noexcept {
  if (!is_preempted_ || own->go_on()) return;
  // What has come meanwhile is asked where the guest catches it.
  own->again = true;
  runners().ask_later();
}

bool is_answering_signal() noexcept { return own != nullptr && own->answering_signal; }

}  // namespace cloche::wasm
