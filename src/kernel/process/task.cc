// SPDX-License-Identifier: Apache-2.0
#include "kernel/process/task.h"

#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <new>

#include "kernel/kernel.h"
#include "kernel/process/mapping.h"
#include "kernel/wasi/preopens.h"
#include "wasm/guest_threads.h"

namespace cloche::kernel {
namespace {

// What a trap is on Linux.
int signal_of(wasm::Trap trap) {
  switch (trap) {
    case wasm::Trap::division_by_zero:
    case wasm::Trap::integer_overflow:
    case wasm::Trap::bad_conversion: return sigfpe;
    case wasm::Trap::unreachable: return sigill;
    case wasm::Trap::uncaught_exception: return sigabrt;
    case wasm::Trap::out_of_memory:
    case wasm::Trap::interrupted: return sigkill;
    default: return sigsegv;
  }
}

WaitStatus status_of(const wasm::Outcome& outcome) {
  switch (outcome.ending) {
    case wasm::Ending::returned: return WaitStatus::exited(outcome.result.as_i32());
    case wasm::Ending::trapped: return WaitStatus::signaled(signal_of(outcome.trap));
    default: return WaitStatus::signaled(sigkill);
  }
}

std::chrono::nanoseconds clock_now(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return {};
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

Task::Task(ProcessPtr process, Start start)
    : kernel_(process->kernel()),
      owner_(std::move(process)),
      program_(std::move(start.program)),
      instance_(std::move(start.clone)),
      clone_function_(start.clone_function),
      clone_argument_(start.clone_argument),
      is_clone_(instance_ != nullptr),
      waiter_(kernel_.clock()) {
  if (instance_) adopt_instance();
}

Task::~Task() = default;

void Task::adopt_instance() {
  instance_->set_owner(this);
  instance_->set_epoch_handler(
      [](wasm::Instance&, void* owner) noexcept { return of(owner).on_epoch(); });
  const auto pending = instance_->global("__cloche_sigpending");
  pending_word_ = pending ? std::optional(pending->as_u32()) : std::nullopt;
}

Errno Task::cannot_start(const Error& error) {
  const KernelLock lock(kernel_.mutex());
  owner_->end_message = error.sentence();
  return error.code();
}

Result<void> Task::start_instance() try {
  StartMemory memory;
  if (program_->startup.memory) {
    Result<StartMemory, Error> found = program_->startup.memory(*this);
    if (!found) return cannot_start(found.error());
    memory = *std::move(found);
  }
  hot_pages_ = std::move(memory.hot_pages);
  wasm::InstanceOptions options;
  options.image = std::move(memory.image);
  options.packed = std::move(memory.packed);
  options.to_be_captured = memory.to_be_captured;
  options.owner = this;
  options.budget = kernel_.memory();
  options.memory_limit_bytes = kernel_.limits().process_memory_bytes;
  auto made = wasm::Instance::create(program_->module, options);
  if (!made) return cannot_start(made.error());
  instance_ = *std::move(made);
  if (hot_pages_) hot_pages_->prepare(*instance_);
  adopt_instance();
  const KernelLock lock(kernel_.mutex());
  const std::uint64_t size = instance_->memory().size();
  const auto heap_base = instance_->global("__heap_base");
  owner_->memory.reset(heap_base ? heap_base->as_u32() : size, size);
  if (program_->module->module().info().interface == wasm::Interface::wasi) {
    CLOCHE_TRY(wasi::install_preopens(*owner_, program_->startup.preopens));
  }
  note_memory(size);
  return {};
} catch (const std::bad_alloc&) {
  const KernelLock lock(kernel_.mutex());
  owner_->end_message = "the host has no memory for this program";
  return Errno::nomem;
}

// A program of the host's has no memory in the sandbox, and no handlers of signals.
void Task::start_without_instance() {
  const KernelLock lock(kernel_.mutex());
  owner_->memory.reset(0, 0);
  note_memory(0);
}

void Task::note_memory(std::uint64_t size) noexcept {
  memory_bytes_ = size;
  owner_->usage.max_memory_bytes = std::max(owner_->usage.max_memory_bytes, size);
}

Result<void> Task::grow_memory(std::uint64_t size) {
  constexpr std::uint64_t wasm_page = 65536;
  const std::uint64_t have = instance_->memory().size();
  if (size <= have) return {};
  const std::uint64_t pages = (size - have + wasm_page - 1) / wasm_page;
  CLOCHE_TRY(instance_->grow(pages));
  note_memory(instance_->memory().size());
  owner_->memory.grown(instance_->memory().size());
  return {};
}

std::unique_ptr<Task> Task::run(std::unique_ptr<Task> task) noexcept {
  std::optional<AtRest> rest = task->run_programs();
  if (!rest) return task;
  const KernelLock lock(std::move(rest->lock));
  park(std::move(task));
  return nullptr;
}

void Task::enter_thread() noexcept {
  clockid_t clock{};
  if (pthread_getcpuclockid(pthread_self(), &clock) != 0) return;
  const KernelLock lock(kernel_.mutex());
  thread_clock_ = clock;
  // Time that was used before still counts.
  cpu_base_ = clock_now(clock) - owner_->usage.cpu;
}

void Task::leave_thread() noexcept {
  const KernelLock lock(kernel_.mutex());
  owner_->usage.cpu = cpu_time();
  thread_clock_.reset();
}

std::optional<AtRest> Task::run_programs() noexcept {
  enter_thread();
  {
    const KernelLock lock(kernel_.mutex());
    begin_computing();
  }
  LeftProgram left = run_program();
  while (std::holds_alternative<Replaced>(left)) left = run_program();
  if (AtRest* rest = std::get_if<AtRest>(&left)) return std::move(*rest);

  const KernelLock lock(kernel_.mutex());
  end_computing();
  owner_->usage.cpu = cpu_time();
  thread_clock_.reset();
  if (vfork_child_) {
    // The parent was ended between vfork and exec: its child never ran.
    kernel_.ended(*std::exchange(vfork_child_, nullptr), WaitStatus::signaled(sigkill));
  }
  owner_->task = nullptr;
  kernel_.ended(*owner_, status_);
  return std::nullopt;
}

bool Task::is_to_leave() {
  const KernelLock lock(kernel_.mutex());
  (void)attend();
  return unwinding_;
}

Task::LeftProgram Task::run_program() noexcept {
  wasm::Outcome outcome;
  outcome.ending = wasm::Ending::exited;
  // Looked at twice: a task that must die at once needs no instance, and nothing interrupts the
  // making of one.
  if (!is_to_leave()) {
    if (!program_->module) {
      start_without_instance();
    } else if (!instance_ && !start_instance()) {
      instance_.reset();
      status_ = WaitStatus::signaled(sigkill);
      return Ended{};
    }
    if (!is_to_leave()) {
      StartupEnd end = call_program();
      if (AtRest* rest = std::get_if<AtRest>(&end)) return std::move(*rest);
      outcome = std::get<wasm::Outcome>(std::move(end));
    }
  }
  if (companion_) {
    if (std::optional<wasm::Outcome> failure = companion_->failure()) outcome = *std::move(failure);
    companion_.reset();
  }
  is_clone_ = false;
  if (instance_) {
    const KernelLock lock(kernel_.mutex());
    (void)write_back_mappings(*this, 0, UINT64_MAX);
  }
  instance_.reset();

  const KernelLock lock(kernel_.mutex());
  if (next_program_) {
    program_ = std::exchange(next_program_, nullptr);
    pending_word_.reset();
    interpreter_signals_.reset();
    stand_in_.reset();
    awaits_look_ = false;
    unwinding_ = false;
    return Replaced{};
  }
  if (!end_) owner_->end_message = outcome.message;
  status_ = end_ ? *end_ : status_of(outcome);
  return Ended{};
}

StartupEnd Task::call_program() {
  if (is_clone_) {
    return instance_->call("__clone_entry",
                           {wasm::Value::i32(clone_function_), wasm::Value::i32(clone_argument_)});
  }
  if (program_->startup.run) return program_->startup.run(*this);
  return instance_->call(program_->entry);
}

void Task::begin_computing() {
  // Steps of nice(2): each has four fifths of the one before.
  constexpr std::array<int, 5> steps{5, 9, 12, 15, 19};
  computing_ = true;
  const std::uint32_t place = ++kernel_.computing_;
  kernel_.computing_changed_.wake_all();
  owner_->computes.wake_all();
  const std::uint32_t full = std::max(1U, kernel_.limits().cpus);
  if (place <= full) return;
  wasm::GuestThreads::lower_priority(steps[std::min<std::size_t>(place - full, steps.size()) - 1]);
}

void Task::end_computing() noexcept {
  // A task that begins parked has not computed yet.
  if (!std::exchange(computing_, false)) return;
  --kernel_.computing_;
  kernel_.computing_changed_.wake_all();
}

void Task::park(std::unique_ptr<Task> task) {
  task->owner_->usage.cpu = task->cpu_time();
  task->thread_clock_.reset();
  task->parked_ = true;
  task->end_computing();
  Kernel& kernel = task->kernel_;
  kernel.park(std::move(task));
}

std::chrono::nanoseconds Task::cpu_time() const {
  if (!thread_clock_) return owner_->usage.cpu;
  return clock_now(static_cast<clockid_t>(*thread_clock_)) - cpu_base_;
}

Result<void> Task::block(std::span<WaitQueue* const> queues, Deadline deadline) {
  if (attend()) return Errno::restart;
  sleeping_ = true;
  end_computing();
  const bool woken = waiter_.sleep(kernel_.mutex(), queues, deadline);
  begin_computing();
  sleeping_ = false;
  if (attention() && attend()) return Errno::restart;
  if (!woken) return Errno::timedout;
  return {};
}

bool Task::attend(Stops stops) {
  for (;;) {
    if (unwinding_) return true;
    if (stops == Stops::here) stand_still();
    SignalState& signals = owner_->signals;
    // Between vfork and exec the guest's code is the child's: the parent's signals wait.
    SignalSet deliverable =
        vfork_child_ ? signals.deliverable() & SignalSet::of(sigkill) : signals.deliverable();
    bool has_more = vfork_child_ != nullptr;
    if (stops == Stops::later) {
      has_more |= kernel_.is_frozen() || !(deliverable & stop_signals).empty();
      deliverable = deliverable & ~stop_signals;
    }
    SignalSet handled;
    std::optional<int> next;
    for (std::uint64_t bits = deliverable.bits(); bits != 0; bits &= bits - 1) {
      const int signo = __builtin_ctzll(bits) + 1;
      if (signals.has_handler(signo) && (pending_word_ || interpreter_signals_)) {
        handled.add(signo);
      } else if (!next) {
        next = signo;
      }
    }
    // Death comes first, then the handlers, then stops.
    if (deliverable.has(sigkill)) next = sigkill;
    if (!next && interpreter_signals_) {
      attention_.store(has_more, std::memory_order_release);
      tell_interpreter(handled);
      return told_;
    }
    if (!next) {
      attention_.store(!handled.empty() || has_more, std::memory_order_release);
      if (handled.empty()) return false;
      const wasm::GuestMemory memory = instance_->memory();
      (void)memory.write<std::uint32_t>(*pending_word_, 1);
      return true;
    }
    (void)signals.dequeue(SignalSet::of(*next));
    if (*next != sigkill && signals.ignored(*next)) continue;
    switch (*next == sigkill ? DefaultAction::terminate : default_action(*next)) {
      case DefaultAction::ignore:
      case DefaultAction::resume: break;
      case DefaultAction::stop:
        if (*next == sigstop || !kernel_.group_is_orphaned(owner_->pgid)) stop_here(*next);
        break;
      case DefaultAction::terminate:
      case DefaultAction::core:
        end_ = WaitStatus::signaled(*next);
        unwinding_ = true;
        break;
    }
  }
}

void Task::set_stand_in(const std::optional<InterpreterSignals>& words) {
  stand_in_ = words;
  (void)attend();
}

void Task::tell_interpreter(SignalSet handled) {
  if (handled.empty()) return;
  wasm::GuestMemory memory = instance_->memory();
  const InterpreterSignals& words = stand_in_ ? *stand_in_ : *interpreter_signals_;
  if (stand_in_) {
    (void)memory.write<std::uint32_t>(words.first, 1);
  } else {
    while (const auto signal = owner_->signals.dequeue(handled)) {
      const auto signo = static_cast<std::uint32_t>(signal->signo);
      (void)memory.write<std::uint32_t>(words.first + signo * words.stride, 1);
    }
  }
  (void)memory.write<std::uint32_t>(words.any, 1);
  if (const auto bits = memory.read<std::uint32_t>(words.breaker))
    (void)memory.write<std::uint32_t>(words.breaker, *bits | words.breaker_bits);
  told_ = true;
}

bool Task::remind_interpreter() {
  wasm::GuestMemory memory = instance_->memory();
  const InterpreterSignals& words = stand_in_ ? *stand_in_ : *interpreter_signals_;
  const auto any = memory.read<std::uint32_t>(words.any);
  const auto bits = memory.read<std::uint32_t>(words.breaker);
  if (!any || !bits || *any == 0) return false;
  if ((*bits & words.breaker_bits) != words.breaker_bits)
    (void)memory.write<std::uint32_t>(words.breaker, *bits | words.breaker_bits);
  return true;
}

bool Task::handlers_restart() const noexcept {
  const SignalState& signals = owner_->signals;
  for (std::uint64_t bits = signals.deliverable().bits(); bits != 0; bits &= bits - 1) {
    const int signo = __builtin_ctzll(bits) + 1;
    if (signals.has_handler(signo) && (signals.disposition(signo).flags & sa_restart) == 0)
      return false;
  }
  return true;
}

void Task::stop_here(int signo) {
  Process& process = *owner_;
  process.state = ProcessState::stopped;
  process.pending_report = WaitStatus::stopped(signo);
  kernel_.report_to_parent(process, cld_stopped, signo);
  while (process.state == ProcessState::stopped && !process.signals.pending().has(sigkill))
    sleep_until_noticed();
  process.state = ProcessState::running;
}

// Whatever its signals are, and whose code it runs; death alone ends it before.
void Task::stand_still() {
  while (kernel_.is_frozen() && !owner_->signals.pending().has(sigkill)) {
    stands_still_ = true;
    sleep_until_noticed();
    stands_still_ = false;
  }
}

void Task::sleep_until_noticed() {
  sleeping_ = true;
  end_computing();
  (void)waiter_.sleep(kernel_.mutex(), {}, std::nullopt);
  begin_computing();
  sleeping_ = false;
}

void Task::notice(wasm::RunHere* here) noexcept {
  attention_.store(true, std::memory_order_release);
  if (parked_) {
    // Where there is no thread for it, the signal is seen when the task goes on.
    (void)kernel_.resume(*owner_, here);
  } else if (sleeping_) {
    waiter_.wake();
  } else {
    kernel_.services().engine.interrupt(this);
  }
}

wasm::EpochAction Task::on_epoch() noexcept {
  if (!attention() && !awaits_look_) return wasm::EpochAction::proceed;
  {
    const KernelLock lock(kernel_.mutex());
    const bool handler = attend();
    if (unwinding_) return wasm::EpochAction::unwind;
    if (interpreter_signals_) {
      awaits_look_ = remind_interpreter();
      return awaits_look_ ? wasm::EpochAction::again : wasm::EpochAction::proceed;
    }
    // A handler that computes may be interrupted by the next signal, but not without end.
    constexpr int max_nested_handlers = 16;
    if (!handler || handler_depth_ >= max_nested_handlers) return wasm::EpochAction::proceed;
  }
  ++handler_depth_;
  const wasm::Outcome outcome = instance_->call("__cloche_signal");
  --handler_depth_;
  if (outcome.returned()) return wasm::EpochAction::proceed;
  if (outcome.ending == wasm::Ending::trapped) {
    if (outcome.trap == wasm::Trap::uncaught_exception) return wasm::EpochAction::rethrow;
    const KernelLock lock(kernel_.mutex());
    if (!end_) end_ = WaitStatus::signaled(signal_of(outcome.trap));
    unwinding_ = true;
  }
  return wasm::EpochAction::unwind;
}

std::optional<Pid> Task::exit(WaitStatus status) {
  if (vfork_child_) {
    const ProcessPtr child = std::exchange(vfork_child_, nullptr);
    kernel_.ended(*child, status);
    return child->pid();
  }
  end_ = status;
  unwinding_ = true;
  return std::nullopt;
}

Result<void> Task::vfork_begin() {
  if (vfork_child_) return Errno::inval;
  CLOCHE_ASSIGN(vfork_child_, kernel_.create_child(*owner_, sigchld));
  return {};
}

Result<Pid> Task::exec(std::shared_ptr<const Program> program) {
  if (vfork_child_) {
    const ProcessPtr child = vfork_child_;
    CLOCHE_TRY(kernel_.start(
        child, std::make_unique<Task>(child, Start{std::move(program), nullptr, 0, 0})));
    vfork_child_.reset();
    return child->pid();
  }
  next_program_ = std::move(program);
  unwinding_ = true;
  return Pid{0};
}

Result<Pid> Task::clone(std::uint32_t function, std::uint32_t argument, std::uint32_t flags) {
  if (vfork_child_) return Errno::inval;
  const int exit_signal = static_cast<int>(flags & 0xff);
  if (exit_signal != 0 && !valid_signal(exit_signal)) return Errno::inval;
  if (!instance_->has_export("__clone_entry")) return Errno::nosys;
  CLOCHE_ASSIGN(const ProcessPtr child,
                kernel_.create_child(*owner_, exit_signal == 0 ? sigchld : exit_signal));

  // The copy is made without the lock: this thread is the only one that changes the parent's
  // memory.
  Result<void> started;
  try {
    Result<std::unique_ptr<wasm::Instance>> copy = [&]() REQUIRES(kernel_lock) {
      const KernelUnlocked unlocked(kernel_.mutex());
      return copy_instance();
    }();
    if (copy) {
      auto task =
          std::make_unique<Task>(child, Start{program_, *std::move(copy), function, argument});
      task->note_memory(instance_->memory().size());
      started = kernel_.start(child, std::move(task));
    } else {
      started = copy.error();
    }
  } catch (const std::bad_alloc&) {
    started = Errno::nomem;  // of the host
  }
  if (!started) {
    kernel_.forget(*child);
    return started.error();
  }
  return child->pid();
}

Result<std::unique_ptr<wasm::Instance>> Task::copy_instance() {
  wasm::InstanceOptions options;
  options.budget = kernel_.memory();
  options.memory_limit_bytes = kernel_.limits().process_memory_bytes;
  const wasm::MemoryMap& map = instance_->memory_map();
  if (!map.unfinished && !map.base_unknown && !map.lost) options.image = map.base;
  auto child = wasm::Instance::create(program_->module, options);
  if (!child) return child.error().code();
  CLOCHE_TRY(wasm::copy_into_clone(*instance_, **child));
  return *std::move(child);
}

}  // namespace cloche::kernel
