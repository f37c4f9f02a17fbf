// SPDX-License-Identifier: Apache-2.0
#include "python/interpreter_threads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <vector>

#include "base/mutex.h"
#include "kernel/host/host_entry.h"
#include "kernel/kernel.h"
#include "kernel/time/timer_thread.h"
#include "wasm/guest_threads.h"

namespace cloche::python {
namespace {

using kernel::InterpreterSignals;
using kernel::Task;
using wasm::Value;

constexpr std::uint32_t magic_bytes = 4;
// userland/python/threads_patch.py knows how large a stack is.
constexpr std::uint32_t stack_bytes = 1U << 20;
constexpr std::uint32_t stack_alignment = 16;
constexpr std::size_t max_threads = 128;  // beside the main one
constexpr std::uint32_t max_tick_ms = 10'000;
constexpr std::string_view start_export = "cloche_thread_start";
constexpr std::string_view swap_export = "cloche_thread_swap";
constexpr std::string_view stack_pointer = "__stack_pointer";

// A timespec of the guest's C library.
struct GuestMoment {
  std::int64_t s = 0;
  std::int32_t ns = 0;
  std::int32_t unused = 0;
};

// When the guest's clock shows that; a moment too far away never comes.
kernel::Deadline deadline_at(kernel::Kernel& kernel, std::uint32_t clock, const GuestMoment& time) {
  constexpr std::uint32_t realtime = 0;
  constexpr std::int64_t longest_s = std::int64_t{1} << 33;
  if (time.s > longest_s) return std::nullopt;
  const std::chrono::nanoseconds shown =
      std::chrono::seconds(std::max<std::int64_t>(time.s, 0)) + std::chrono::nanoseconds(time.ns);
  const kernel::SteadyTime now = kernel.clock().steady();
  const std::chrono::nanoseconds shows_now =
      clock == realtime ? kernel.clock().wall().time_since_epoch() : now - kernel.booted();
  return now + (shown - shows_now);
}

// In the count of the sandbox.
class ThreadPlace {
 public:
  explicit ThreadPlace(kernel::Kernel& kernel)
      : kernel_(kernel.add_interpreter_thread() ? &kernel : nullptr) {}
  ~ThreadPlace() {
    if (kernel_ != nullptr) kernel_->remove_interpreter_thread();
  }
  ThreadPlace(const ThreadPlace&) = delete;
  ThreadPlace& operator=(const ThreadPlace&) = delete;
  explicit operator bool() const noexcept { return kernel_ != nullptr; }

 private:
  kernel::Kernel* kernel_;
};

class InterpreterThreads final : public kernel::Companion {
 public:
  explicit InterpreterThreads(Task& task) : task_(task) {
    stacks_.push_back(std::make_unique<Stack>());
    Stack& main = *stacks_.front();
    main.instance = &task.instance();
    main.state = Stack::State::live;
    current_ = &main;
  }
  ~InterpreterThreads() override;

  static InterpreterThreads& of(Task& task) {
    if (task.companion() == nullptr) task.keep(std::make_unique<InterpreterThreads>(task));
    return static_cast<InterpreterThreads&>(*task.companion());
  }

  std::optional<wasm::Outcome> failure() override {
    const MutexLock lock(mutex_);
    return failure_;
  }

  // The number of a thread that has not begun; 0 where there is no room for one.
  std::uint32_t begin(wasm::HostCall& host, std::uint32_t argument);
  void run(wasm::HostCall& host, std::uint32_t number);
  void yield(wasm::HostCall& host, std::uint32_t clock, std::uint32_t moment);
  void end() EXCLUDES(kernel::kernel_lock);
  void tick(const wasm::GuestMemory& memory, std::uint32_t milliseconds, std::uint32_t signal)
      EXCLUDES(kernel::kernel_lock);
  void rest();

 private:
  struct Stack {
    enum class State : std::uint8_t { idle, live };

    std::unique_ptr<ThreadPlace> place;  // null: the main one
    std::uint32_t number = 0;
    std::unique_ptr<wasm::Instance> own;  // null: the main one
    wasm::Instance* instance = nullptr;
    std::uint32_t top = 0;  // of its stack, in the guest's memory
    std::uint32_t argument = 0;
    std::uint32_t thread_state = 0;  // CPython's, once it is known; 0 while C code has let go of it
    std::uint32_t own_state = 0;     // the same, also meanwhile
    State state = State::idle;
    bool ends = false;  // its thread_state goes: nothing is told to it any more
    bool go = false;
    Condition wake;
  };

  // C code cannot run handlers before it has what it waits for.
  enum class Waits : std::uint8_t { in_c, in_python };

  Stack* free_stack(wasm::Instance& instance);
  Stack* make_stack(wasm::Instance& instance);
  void serve(Stack& stack) noexcept;
  bool is_told(const Stack& stack) EXCLUDES(kernel::kernel_lock);
  bool hand_over(Stack& from, Stack& to, Waits waits);
  bool come_back(Stack& stack) EXCLUDES(kernel::kernel_lock);
  bool swap(Stack& stack, std::uint32_t thread_state);
  bool make_own(Stack& stack);
  void hand_to_main() REQUIRES(mutex_);
  std::optional<InterpreterSignals> words_of(const Stack& stack) const REQUIRES(mutex_);
  void disarm() REQUIRES(mutex_);
  void tell_later(std::uint64_t arming, std::chrono::milliseconds delay) REQUIRES(mutex_);
  void told(std::uint64_t arming, std::chrono::milliseconds delay) noexcept;
  void tell(const Stack& stack) noexcept REQUIRES(mutex_);

  Task& task_;
  // Never held while a guest runs or the kernel's lock is taken.
  Mutex mutex_;
  std::vector<std::unique_ptr<Stack>> stacks_ GUARDED_BY(mutex_);  // by number
  Stack* current_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
  std::size_t serving_ GUARDED_BY(mutex_) = 0;
  Condition served_;
  std::optional<wasm::Outcome> failure_ GUARDED_BY(mutex_);

  std::uint64_t arming_ GUARDED_BY(mutex_) = 0;           // of the tick that is awaited
  kernel::TimerThread::Id timer_ GUARDED_BY(mutex_) = 0;  // that tells of it; 0: none
  bool told_ GUARDED_BY(mutex_) = false;  // that tick, and the next one is not asked for yet
  std::uint32_t tick_signal_ GUARDED_BY(mutex_) = 0;
  std::optional<InterpreterSignals> signals_ GUARDED_BY(mutex_);  // the main thread's
  std::byte* memory_ GUARDED_BY(mutex_) = nullptr;
  std::uint64_t memory_bytes_ GUARDED_BY(mutex_) = 0;
};

InterpreterThreads::~InterpreterThreads() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    ++arming_;
    for (const auto& stack : stacks_) stack->wake.notify_all();
    served_.wait(mutex_, [&]() REQUIRES(mutex_) { return serving_ == 0; });
  }
  task_.kernel().services().timers.drain(this);
}

InterpreterThreads::Stack* InterpreterThreads::make_stack(wasm::Instance& instance) {
  const auto is_full = [this] {
    const MutexLock lock(mutex_);
    return stacks_.size() > max_threads;
  };
  if (is_full() || !instance.has_export(stack_pointer)) return nullptr;
  auto place = std::make_unique<ThreadPlace>(task_.kernel());
  if (!*place) return nullptr;
  const wasm::Outcome room = instance.call("host_alloc", {Value::i32(stack_bytes)});
  if (!room.returned() || room.result.as_u32() == 0) return nullptr;
  auto stack = std::make_unique<Stack>();
  stack->place = std::move(place);
  stack->top = (room.result.as_u32() + stack_bytes) / stack_alignment * stack_alignment;
  wasm::InstanceOptions options;
  options.owner = &task_;
  options.budget = task_.kernel().memory();
  options.memory_limit_bytes = instance.memory_limit();
  options.memory_of = &instance;
  auto made = wasm::Instance::create(instance.linked_module(), options);
  if (!made) return nullptr;
  stack->own = *std::move(made);
  stack->instance = stack->own.get();
  stack->own->set_epoch_handler(
      [](wasm::Instance&, void* owner) noexcept { return Task::of(owner).on_epoch(); });
  Stack* const added = stack.get();
  {
    const MutexLock lock(mutex_);
    // Only the thread that runs makes stacks, but what it has called may have made some.
    if (stacks_.size() > max_threads) return nullptr;
    stack->number = static_cast<std::uint32_t>(stacks_.size());
    stacks_.push_back(std::move(stack));
    ++serving_;
  }
  const auto is_served = [&] {
    try {
      return task_.kernel().services().threads.run([this, added] { serve(*added); }).ok();
    } catch (const std::bad_alloc&) {
      return false;
    }
  };
  if (is_served()) return added;
  const MutexLock lock(mutex_);
  --serving_;
  stacks_.pop_back();
  return nullptr;
}

InterpreterThreads::Stack* InterpreterThreads::free_stack(wasm::Instance& instance) {
  {
    const MutexLock lock(mutex_);
    for (const auto& stack : stacks_)
      if (stack->state == Stack::State::idle) return stack.get();
  }
  return make_stack(instance);
}

std::uint32_t InterpreterThreads::begin(wasm::HostCall& host, std::uint32_t argument) {
  Stack* const stack = free_stack(host.instance());
  if (stack == nullptr) return 0;
  const MutexLock lock(mutex_);
  stack->argument = argument;
  stack->thread_state = stack->own_state = 0;
  stack->ends = false;
  stack->state = Stack::State::live;
  return stack->number;
}

// The body of a host's thread: one thread of the interpreter after the other.
void InterpreterThreads::serve(Stack& stack) noexcept {
  ReleasableMutexLock lock(mutex_);
  for (;;) {
    stack.wake.wait(mutex_, [&]() REQUIRES(mutex_) { return stack.go || ending_; });
    if (ending_) break;
    stack.go = false;
    lock.unlock();
    wasm::Outcome outcome;
    outcome.ending = wasm::Ending::exited;
    if (come_back(stack) && stack.instance->set_global(stack_pointer, Value::i32(stack.top)).ok())
      outcome = stack.instance->call(start_export, {Value::i32(stack.argument)});
    lock.lock();
    if (ending_) break;
    if (!outcome.returned()) {
      ending_ = true;
      if (outcome.ending == wasm::Ending::trapped) failure_ = outcome;
    }
    stack.state = Stack::State::idle;
    lock.unlock();
    task_.leave_thread();
    lock.lock();
    hand_to_main();
    if (ending_) break;
  }
  --serving_;
  served_.notify_all();
}

// With the mutex held.
void InterpreterThreads::hand_to_main() {
  current_ = stacks_.front().get();
  current_->go = true;
  current_->wake.notify_all();
}

// Makes that thread of CPython's the one that runs, on this stack; 0: none is.
bool InterpreterThreads::swap(Stack& stack, std::uint32_t thread_state) {
  const wasm::Outcome outcome = stack.instance->call(swap_export, {Value::i32(thread_state)});
  if (!outcome.returned()) return false;
  if (thread_state == 0) {
    const MutexLock lock(mutex_);
    stack.thread_state = outcome.result.as_u32();
    if (stack.thread_state != 0) stack.own_state = stack.thread_state;
  }
  return true;
}

// PyGILState_Ensure takes what was current last for its own thread's; C code that has let go of its
// own calls it.
bool InterpreterThreads::make_own(Stack& stack) {
  {
    const MutexLock lock(mutex_);
    if (stack.own_state == 0 || stack.ends) return true;
  }
  return stack.instance->call(swap_export, {Value::i32(stack.own_state)}).returned() &&
         stack.instance->call(swap_export, {Value::i32(0)}).returned();
}

// `stack` goes on, on this thread of the host. False: the process must end.
bool InterpreterThreads::come_back(Stack& stack) {
  task_.enter_thread();
  task_.instance().follow_memory();
  stack.instance->follow_memory();
  if (stack.own) stack.own->set_memory_limit(task_.instance().memory_limit());
  std::optional<InterpreterSignals> words;
  {
    const MutexLock lock(mutex_);
    if (stack.own) words = words_of(stack);
    if (told_) tell(stack);  // the one that was told may not go on soon
  }
  const kernel::KernelLock lock(task_.kernel().mutex());
  if (task_.has_interpreter_signals()) task_.set_stand_in(words);
  return !task_.unwinding();
}

// Whether the main thread has been told of a signal and has not run its handler yet: another one
// would run it in its place.
bool InterpreterThreads::is_told(const Stack& stack) {
  if (stack.own) return false;
  std::optional<InterpreterSignals> words;
  {
    const kernel::KernelLock lock(task_.kernel().mutex());
    words = task_.interpreter_signals();
  }
  if (!words) return false;
  wasm::GuestMemory memory = stack.instance->memory();
  const auto any = memory.read<std::uint32_t>(words->any);
  const auto bits = memory.read<std::uint32_t>(words->breaker);
  if (!any || !bits || *any == 0) return false;
  (void)memory.write<std::uint32_t>(words->breaker, *bits | words->breaker_bits);
  return true;
}

// False: the process must end, and the caller's guest with it.
bool InterpreterThreads::hand_over(Stack& from, Stack& to, Waits waits) {
  if (!swap(from, 0)) return false;
  if (&from != &to && (waits == Waits::in_c || !is_told(from))) {
    task_.leave_thread();
    ReleasableMutexLock lock(mutex_);
    current_ = &to;
    to.go = true;
    to.wake.notify_all();
    from.wake.wait(mutex_, [&]() REQUIRES(mutex_) { return from.go || ending_; });
    from.go = false;
    if (ending_) {
      lock.unlock();
      if (!from.own) task_.enter_thread();
      return false;
    }
  }
  return come_back(from) &&
         (from.thread_state == 0 ? make_own(from) : swap(from, from.thread_state));
}

void InterpreterThreads::run(wasm::HostCall& host, std::uint32_t number) {
  Stack* from = nullptr;
  Stack* to = nullptr;
  {
    const MutexLock lock(mutex_);
    from = current_;
    const bool there = number < stacks_.size() && stacks_[number]->state == Stack::State::live;
    to = stacks_[there ? number : 0].get();
  }
  if (!hand_over(*from, *to, Waits::in_python)) host.unwind();
}

void InterpreterThreads::yield(wasm::HostCall& host, std::uint32_t clock, std::uint32_t moment) {
  Stack* from = nullptr;
  Stack* to = nullptr;
  {
    const MutexLock lock(mutex_);
    from = current_;
    for (std::size_t i = 1; to == nullptr; ++i) {
      Stack& next = *stacks_[(current_->number + i) % stacks_.size()];
      if (next.state == Stack::State::live) to = &next;
    }
  }
  if (to != from) {
    if (!hand_over(*from, *to, Waits::in_c)) host.unwind();
    return;
  }
  // Nobody else is there to end what is waited for; a signal may be.
  (void)kernel::enter_kernel(host,
                             [&](Task& task, const wasm::GuestMemory& memory)
                                 REQUIRES(kernel::kernel_lock) -> Result<void> {
                                   kernel::Deadline until;
                                   if (moment != 0) {
                                     CLOCHE_ASSIGN(const GuestMoment time,
                                                   memory.read<GuestMoment>(moment));
                                     until = deadline_at(task.kernel(), clock, time);
                                   }
                                   return task.block({}, until);
                                 });
}

void InterpreterThreads::end() {
  std::optional<InterpreterSignals> words;
  {
    const MutexLock lock(mutex_);
    if (!current_->own) return;
    current_->ends = true;
    words = words_of(*current_);
  }
  const kernel::KernelLock lock(task_.kernel().mutex());
  if (task_.has_interpreter_signals()) task_.set_stand_in(words);
}

// Where a thread is told of a tick; the main one in place of one that ends. With the mutex held.
std::optional<InterpreterSignals> InterpreterThreads::words_of(const Stack& stack) const {
  const Stack& main = *stacks_.front();
  if (!signals_) return std::nullopt;
  InterpreterSignals own = *signals_;
  if (stack.thread_state != 0 && main.thread_state != 0 && !stack.ends)
    own.breaker += stack.thread_state - main.thread_state;
  own.first += tick_signal_ * own.stride;
  return own;
}

void InterpreterThreads::tick(const wasm::GuestMemory& memory, std::uint32_t milliseconds,
                              std::uint32_t signal) {
  std::optional<InterpreterSignals> words;
  {
    const kernel::KernelLock lock(task_.kernel().mutex());
    words = task_.interpreter_signals();
  }
  {
    const MutexLock lock(mutex_);
    ++arming_;
    told_ = false;
    tick_signal_ = signal;
    signals_ = words;
    memory_ = memory.base();
    memory_bytes_ = memory.size();
    disarm();
    if (milliseconds != 0 && milliseconds <= max_tick_ms)
      tell_later(arming_, std::chrono::milliseconds(milliseconds));
  }
}

// Nobody waits for that tick any more.
void InterpreterThreads::disarm() {
  if (timer_ != 0) (void)task_.kernel().services().timers.cancel(timer_);
  timer_ = 0;
}

void InterpreterThreads::tell_later(std::uint64_t arming, std::chrono::milliseconds delay) {
  try {
    timer_ = task_.kernel().services().timers.add(std::chrono::steady_clock::now() + delay, this,
                                                  [this, arming, delay] { told(arming, delay); });
  } catch (const std::exception&) {
    // No thread or no memory for it: the interpreter's threads go on where they wait.
  }
}

// On the timers' thread. What is told may be lost, so it is told again until the interpreter has
// asked for the next tick; ever later, for it may sleep.
void InterpreterThreads::told(std::uint64_t arming, std::chrono::milliseconds delay) noexcept {
  constexpr std::chrono::milliseconds longest_delay{5'000};
  const MutexLock lock(mutex_);
  if (arming != arming_) return;
  timer_ = 0;
  told_ = true;
  tell(*current_);
  if (delay < longest_delay) tell_later(arming, 2 * delay);
}

// While the guest runs: it may lose what is set here, but not the other way around. With the mutex
// held.
void InterpreterThreads::tell(const Stack& stack) noexcept {
  const auto words = words_of(stack);
  if (!words) return;
  for (const std::uint32_t at : {words->any, words->first, words->breaker}) {
    if (at % sizeof(std::uint32_t) != 0 ||
        at + std::uint64_t{sizeof(std::uint32_t)} > memory_bytes_)
      return;
  }
  const auto word = [&](std::uint32_t at) REQUIRES(mutex_) {
    return std::atomic_ref(*reinterpret_cast<std::uint32_t*>(memory_ + at));
  };
  word(words->first).store(1);
  word(words->any).store(1);
  word(words->breaker).fetch_or(words->breaker_bits);
}

void InterpreterThreads::rest() {
  const MutexLock lock(mutex_);
  ++arming_;
  told_ = false;
  disarm();
}

}  // namespace

Result<void> begin_thread(wasm::HostCall& host, std::uint32_t request) {
  const std::uint32_t place = request + magic_bytes;
  CLOCHE_ASSIGN(const auto argument, host.memory().read<std::uint32_t>(place));
  const std::uint32_t number = InterpreterThreads::of(host.owner<Task>()).begin(host, argument);
  return host.memory().write(place, number);
}

Result<void> run_thread(wasm::HostCall& host, std::uint32_t request) {
  CLOCHE_ASSIGN(const auto number, host.memory().read<std::uint32_t>(request + magic_bytes));
  InterpreterThreads::of(host.owner<Task>()).run(host, number);
  return {};
}

Result<void> yield_thread(wasm::HostCall& host, std::uint32_t request) {
  using Words = std::array<std::uint32_t, 2>;
  CLOCHE_ASSIGN(const auto words, host.memory().read<Words>(request + magic_bytes));
  InterpreterThreads::of(host.owner<Task>()).yield(host, words[0], words[1]);
  return {};
}

Result<void> end_thread(wasm::HostCall& host) {
  InterpreterThreads::of(host.owner<Task>()).end();
  return {};
}

Result<void> tick(wasm::HostCall& host, std::uint32_t request) {
  using Words = std::array<std::uint32_t, 2>;
  CLOCHE_ASSIGN(const auto words, host.memory().read<Words>(request + magic_bytes));
  constexpr std::uint32_t highest_signal = 64;
  if (words[1] > highest_signal) return Errno::inval;
  InterpreterThreads::of(host.owner<Task>()).tick(host.memory(), words[0], words[1]);
  return {};
}

void rest(kernel::Task& task) {
  if (task.companion() != nullptr) InterpreterThreads::of(task).rest();
}

}  // namespace cloche::python
