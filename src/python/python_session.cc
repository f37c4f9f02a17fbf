// SPDX-License-Identifier: Apache-2.0
#include "python/python_session.h"

#include <fmt/format.h>

#include "base/host_error.h"
#include "kernel/host/resident.h"
#include "kernel/kernel.h"
#include "kernel/process/exec.h"
#include "kernel/process/spawn_request.h"
#include "kernel/time/timer_thread.h"
#include "python/interpreter_threads.h"
#include "python/start_block.h"
#include "python/stop_patience.h"
#include "python/unused_heap.h"
#include "wasm/packed_memory.h"
#include "wasm/run_here.h"

namespace cloche::python {

// What the session and its process say to each other; members are guarded by the kernel lock.
struct PythonSession::Shared : kernel::Resident {
  enum class Request : std::uint8_t { none, execute, capture };

  PythonRuntime* runtime = nullptr;
  std::shared_ptr<const wasm::MemoryImage> image;  // to start from; null: the boot image
  Turn first_turn = Turn::session;

  Request request GUARDED_BY(kernel::kernel_lock) = Request::none;
  Turn turn = Turn::execute;  // of the request; its taker's, like what answers it, until `answered`
  std::string source GUARDED_BY(kernel::kernel_lock);
  std::uint64_t memory_limit_bytes = 0;  // of this turn; 0: what the kernel allows
  bool has_run = false;
  bool busy GUARDED_BY(kernel::kernel_lock) = false;             // a turn is in progress
  std::shared_ptr<Watch> watch GUARDED_BY(kernel::kernel_lock);  // of one that is taken here

  // A turn that is being stopped. Where the process has not begun it yet, it never does.
  StopReason stop_wanted GUARDED_BY(kernel::kernel_lock) = StopReason::none;
  bool stop_acknowledged GUARDED_BY(kernel::kernel_lock) = false;
  kernel::SteadyTime stopped_at GUARDED_BY(kernel::kernel_lock);
  std::chrono::nanoseconds cpu_at_stop GUARDED_BY(kernel::kernel_lock){0};

  // What the first code of this session's forks writes; they learn it together.
  std::shared_ptr<wasm::HotPages> fork_pages = std::make_shared<wasm::HotPages>();
  // The same for this session itself, shared with all that start from the same image.
  std::shared_ptr<wasm::HotPages> own_pages = std::make_shared<wasm::HotPages>();
  wasm::Outcome outcome;           // of the turn
  std::uint64_t memory_bytes = 0;  // of the instance after it: it never shrinks
  std::shared_ptr<const wasm::MemoryImage> captured;
  Errno capture_error = Errno::io;

  Result<kernel::StartMemory, Error> start_memory(kernel::Task& task);
  wasm::Outcome begin(kernel::Task& task) EXCLUDES(kernel::kernel_lock);
  kernel::StartupEnd take_requests(kernel::Task& task) EXCLUDES(kernel::kernel_lock);
  void perform(kernel::Task& task, Request what, const std::string& text);
};

namespace {

constexpr int status_killed = 128 + 9;
constexpr std::int32_t turn_raised = 1;      // session.py: an exception
constexpr std::int32_t turn_exited = 2;      // session.py: the code called sys.exit
constexpr std::int32_t asked_to_exit = 256;  // + its status, in Shared::outcome

wasm::Outcome not_begun() {
  wasm::Outcome outcome;
  outcome.ending = wasm::Ending::returned;
  outcome.result = wasm::Value::i32(turn_raised);
  return outcome;
}

// What its allocator holds for later may be much of what it is.
void pack(kernel::Task& task) noexcept try {
  wasm::Instance& instance = task.instance();
  if (instance.memory_map().packed) return;
  wasm::give_back_unused(instance, unused_heap(instance));
  (void)wasm::pack_memory(instance);
} catch (const std::bad_alloc&) {
  return;
}

}  // namespace

std::string reason_of_exit(int status) {
  return fmt::format(": the interpreter exited with status {}", status);
}

std::string reason_of_signal(int number) {
  return fmt::format(": signal {} ended the interpreter", number);
}

bool has_folder(kernel::Kernel& kernel, const std::string& path) {
  if (!path.starts_with('/')) return false;
  const kernel::KernelLock lock(kernel.mutex());
  const Result<vfs::Node> node =
      kernel.files().lookup(kernel.files().root(), path, vfs::Follow::yes, vfs::Credentials{});
  if (!node) return false;
  const Result<vfs::Stat> stat = node->stat();
  return stat && stat->type == vfs::FileType::directory;
}

Result<kernel::StartMemory, Error> PythonSession::Shared::start_memory(kernel::Task& task) {
  if (!image) {
    CLOCHE_ASSIGN(const std::shared_ptr<BootImage> boot, runtime->boot_image_for(task));
    image = boot->memory;
    own_pages = std::shared_ptr<wasm::HotPages>(boot, &boot->session_pages);
  }
  // A session is likely to be forked, with much state.
  return kernel::StartMemory{
      .image = std::exchange(image, nullptr), .to_be_captured = true, .hot_pages = own_pages};
}

wasm::Outcome PythonSession::Shared::begin(kernel::Task& task) {
  std::string frame;
  {
    const kernel::KernelLock lock(task.kernel().mutex());
    task.note_memory(task.instance().memory().size());
    frame = start_block(first_turn, task.process(), task.kernel().options().host_name);
  }
  return take_turn(task.instance(), frame);
}

kernel::StartupEnd PythonSession::Shared::take_requests(kernel::Task& task) {
  kernel::Kernel& kernel = task.kernel();
  kernel::ReleasableKernelLock lock(kernel.mutex());
  for (;;) {
    task.begin_call();
    if (task.attend() && task.unwinding()) {
      wasm::Outcome ended;
      ended.ending = wasm::Ending::exited;
      return ended;
    }
    if (request == Request::none) {
      return kernel::AtRest{lock.hand_over()};
    }
    const Request what = std::exchange(request, Request::none);
    const std::string text = std::move(source);
    for (const StopReason reason :
         {StopReason::cancelled, StopReason::time, StopReason::cpu, StopReason::output}) {
      task.process().signals.discard(kernel::SignalSet::of(static_cast<int>(reason)));
    }
    const bool stopped_before = what == Request::execute && stop_wanted != StopReason::none;
    lock.unlock();
    if (stopped_before) {
      outcome = not_begun();
    } else {
      perform(task, what, text);
    }
    lock.lock();
    answered = true;
    answer.wake_all();
    if (!outcome.returned() || task.unwinding()) return outcome;
  }
}

void PythonSession::Shared::perform(kernel::Task& task, Request what, const std::string& text) {
  if (what == Request::execute) {
    const std::uint64_t usual = task.kernel().limits().process_memory_bytes;
    task.instance().set_memory_limit(memory_limit_bytes == 0 ? usual
                                                             : std::min(memory_limit_bytes, usual));
    // A turn's result is a byte: the status of a sys.exit is a second one.
    outcome = take_turn(task.instance(), code_frame(turn, text));
    memory_bytes = task.instance().memory().size();
    rest(task);
    task.instance().set_memory_limit(usual);
    // What first code writes: nothing was executed yet where only this was asked.
    if (turn != Turn::exit_status && !std::exchange(has_run, true)) task.learn_hot_pages();
    if (turn != Turn::execute || !outcome.returned() || outcome.result.as_i32() != turn_exited)
      return;
    outcome = take_turn(task.instance(), code_frame(Turn::exit_status, {}));
    if (outcome.returned())
      outcome.result = wasm::Value::i32(asked_to_exit + outcome.result.as_i32());
    return;
  }
  auto taken = wasm::MemoryImage::capture(task.instance(), unused_heap);
  if (taken) {
    captured = *std::move(taken);
  } else {
    capture_error = taken.error();
  }
}

Result<std::unique_ptr<PythonSession>> PythonSession::spawn(PythonRuntime& runtime,
                                                            kernel::Kernel& kernel,
                                                            SessionOptions options,
                                                            std::shared_ptr<Shared> shared) {
  CLOCHE_ASSIGN(const std::shared_ptr<const kernel::Program> python,
                kernel::load_for_host(kernel, runtime.tag()));
  shared->runtime = &runtime;
  auto program = std::make_shared<kernel::Program>(*python);
  program->startup.memory = [shared](kernel::Task& task) { return shared->start_memory(task); };
  program->startup.run = [shared](kernel::Task& task) {
    return shared->serve(
        task, [&] { return shared->begin(task); }, [&] { return shared->take_requests(task); });
  };
  program->startup.pack = [](kernel::Task& task) { pack(task); };
  kernel::SpawnRequest request;
  request.path = "/usr/bin/python3";
  request.program = std::move(program);
  request.argv = {"python3"};
  request.environment = std::move(options.environment);
  request.cwd = std::move(options.cwd);
  request.files = std::move(options.files);
  request.begin = kernel::SpawnRequest::Begin::parked;
  Result<kernel::ProcessPtr> process = kernel.spawn(std::move(request));
  if (!process) return process.error();
  return std::unique_ptr<PythonSession>(
      new PythonSession(runtime, kernel, std::move(shared), *std::move(process)));
}

Result<std::unique_ptr<PythonSession>> PythonSession::start(PythonRuntime& runtime,
                                                            kernel::Kernel& kernel,
                                                            SessionOptions options) {
  return spawn(runtime, kernel, std::move(options), std::make_shared<Shared>());
}

Result<std::unique_ptr<PythonSession>> PythonSession::start_from(
    PythonRuntime& runtime, kernel::Kernel& kernel, SessionOptions options,
    std::shared_ptr<const wasm::MemoryImage> image, Turn first,
    std::shared_ptr<wasm::HotPages> hot_pages) {
  auto shared = std::make_shared<Shared>();
  shared->image = std::move(image);
  shared->first_turn = first;
  if (hot_pages) shared->own_pages = std::move(hot_pages);
  return spawn(runtime, kernel, std::move(options), std::move(shared));
}

PythonSession::PythonSession(PythonRuntime& runtime, kernel::Kernel& kernel,
                             std::shared_ptr<Shared> shared, kernel::ProcessPtr process)
    : runtime_(runtime),
      kernel_(kernel),
      shared_(std::move(shared)),
      process_(kernel.mutex(), std::move(process)) {}

PythonSession::~PythonSession() {
  kernel_.kill_job(process_->job);
  (void)kernel_.wait_for(process(), std::nullopt);
}

void PythonSession::begin() {
  const kernel::KernelLock lock(kernel_.mutex());
  (void)kernel_.resume(*process_);
}

bool PythonSession::is_gone() const { return shared_->is_gone(*process_); }

bool PythonSession::has_ended() const {
  return is_gone() && (process_->status || !shared_->replaced);
}

TurnResult PythonSession::execute(std::string_view source, std::chrono::milliseconds time) {
  const kernel::JobId job = process_->job;
  {
    kernel::ReleasableKernelLock lock(kernel_.mutex());
    ask(Turn::execute, source, {.time = time});
    const Result<bool> in_time = shared_->run_turn(*process_);
    if (!in_time) return no_thread();
    if (*in_time && shared_->wait_for_answer(*process_)) return turn_result();
  }
  kernel_.kill_job(job);
  return {TurnStatus::overdue, 0, StopReason::time,
          "the code was stopped at its time limit, and the session with it"};
}

void PythonSession::ask(Turn what, std::string_view payload, const TurnLimits& limits) {
  shared_->answered = false;
  shared_->stop_wanted = StopReason::none;
  shared_->stop_acknowledged = false;
  shared_->busy = true;
  process_->clock = std::make_shared<kernel::RunClock>(limits.time);
  if (is_gone()) return;
  shared_->turn = what;
  shared_->source = payload;
  shared_->memory_limit_bytes = limits.memory_limit_bytes;
  shared_->request = Shared::Request::execute;
}

TurnResult PythonSession::no_thread() {
  shared_->busy = false;
  shared_->request = Shared::Request::none;
  TurnResult result;
  result.status = TurnStatus::ended;
  result.reason = "the host gives no thread for it";
  return result;
}

// The interpreter is on its way out, or has become another program.
void PythonSession::wait_for_end() {
  kernel::Waiter waiter;
  kernel::WaitQueue* const queues[] = {&shared_->answer, &process_->ended};
  while (!process_->status && !(shared_->gone && shared_->replaced))
    (void)waiter.sleep(kernel_.mutex(), queues, std::nullopt);
}

TurnResult PythonSession::turn_result() {
  TurnResult result;
  result.memory_bytes = shared_->memory_bytes;
  shared_->busy = false;
  if (!shared_->answered || !shared_->outcome.returned()) {
    wait_for_end();
    result.status = TurnStatus::ended;
    result.reason = "the session has ended";
    if (!shared_->outcome.message.empty())
      result.reason += ": " + shared_->outcome.message;
    else if (process_->status && process_->status->is_exited())
      result.reason += reason_of_exit(process_->status->exit_code());
    else if (process_->status)
      result.reason += reason_of_signal(process_->status->term_signal());
    result.exit_code = process_->status ? process_->status->shell_status() : status_killed;
    return result;
  }
  const std::int32_t code = shared_->outcome.result.as_i32();
  if (code >= asked_to_exit) {
    result.status = TurnStatus::exited;
    result.exit_code = code - asked_to_exit;
  } else if (code != 0) {
    result.status = TurnStatus::raised;
  }
  return result;
}

// Looks at a turn that is taken on the thread of who asked for it, by the timers' thread, whenever
// who waits for one would look.
class PythonSession::Watch : public std::enable_shared_from_this<Watch> {
 public:
  Watch(PythonSession& session, const TurnLimits& limits)
      : session_(session), kernel_(session.kernel_), limits_(limits) {}

  const TurnLimits& limits() const noexcept { return limits_; }
  bool overdue() const noexcept REQUIRES(kernel::kernel_lock) { return overdue_; }

  // Where the host has no thread or memory to look again, the time is over.
  void look_again() noexcept REQUIRES(kernel::kernel_lock) try {
    forget_timer();
    NextLook look = session_.next_look(limits_, {});
    if (look.when_it_computes) {
      const kernel::SteadyTime soon = std::chrono::steady_clock::now() + while_it_sleeps;
      look.at = look.at ? std::min(*look.at, soon) : soon;
    }
    if (!look.at) return;
    timer_ = kernel_.services().timers.add(*look.at, &kernel_,
                                           [self = shared_from_this()] { self->look(); });
  } catch (const HostError&) {
    give_up();
  } catch (const std::bad_alloc&) {
    give_up();
  }

  // The process has not stopped, or does not listen.
  void give_up() noexcept REQUIRES(kernel::kernel_lock) {
    overdue_ = true;
    (void)kernel_.post(*session_.process_, {.signo = kernel::sigkill, .code = kernel::si_kernel});
  }

  // The session may go from now on.
  void end() noexcept REQUIRES(kernel::kernel_lock) {
    ended_ = true;
    forget_timer();
  }

 private:
  // Only a turn that is being stopped counts the CPU time of one that sleeps.
  static constexpr std::chrono::milliseconds while_it_sleeps{10};

  void look() EXCLUDES(kernel::kernel_lock) {
    const kernel::KernelLock lock(kernel_.mutex());
    if (ended_ || overdue_) return;
    if (!session_.keep_within(limits_, {})) give_up();
    if (!overdue_) look_again();
  }

  void forget_timer() noexcept REQUIRES(kernel::kernel_lock) {
    if (timer_ != 0) (void)kernel_.services().timers.cancel(std::exchange(timer_, 0));
  }

  PythonSession& session_;  // until it has ended
  kernel::Kernel& kernel_;
  const TurnLimits limits_;
  kernel::TimerThread::Id timer_ GUARDED_BY(kernel::kernel_lock) = 0;
  bool overdue_ GUARDED_BY(kernel::kernel_lock) = false;
  bool ended_ GUARDED_BY(kernel::kernel_lock) = false;
};

TurnResult PythonSession::take(Turn what, std::string_view payload, const TurnLimits& limits) {
  const auto watch = std::make_shared<Watch>(*this, limits);
  wasm::RunHere here;
  kernel::ReleasableKernelLock lock(kernel_.mutex());
  ask(what, payload, limits);
  // That a guest computes again after a sleep is something to wait for: with a limit of CPU time.
  const bool waits = limits.cpu.count() > 0;
  if (!kernel_.resume(*process_, waits ? nullptr : &here)) return no_thread();
  if (here.caught() ? take_here(here, watch) : wait_within(limits)) {
    TurnResult result = turn_result();
    result.stopped = shared_->stop_wanted;
    return result;
  }
  const StopReason reason = shared_->stop_wanted;
  lock.unlock();
  kernel_.kill_job(process_->job);
  return {TurnStatus::overdue, 0, reason, std::string(reason_not_stopped)};
}

void PythonSession::stop(StopReason reason) {
  const kernel::KernelLock lock(kernel_.mutex());
  begin_stop(reason);
}

void PythonSession::begin_stop(StopReason reason) {
  if (!shared_->busy || has_ended() || shared_->stop_wanted != StopReason::none) return;
  shared_->stop_wanted = reason;
  shared_->stopped_at = std::chrono::steady_clock::now();
  shared_->cpu_at_stop = cpu_time();
  if (!shared_->replaced) tell_stop();
  shared_->answer.wake_all();
  if (!shared_->watch) return;
  if (shared_->replaced) return shared_->watch->give_up();
  shared_->watch->look_again();
}

void PythonSession::tell_stop() {
  // Not begun: it never does, and a process that is still starting has no handler for the signal.
  if (shared_->request != Shared::Request::none) return;
  const int signo = static_cast<int>(shared_->stop_wanted);
  process_->signals.discard(kernel::SignalSet::of(signo));
  (void)kernel_.post(*process_, {.signo = signo, .code = kernel::si_kernel});
}

bool PythonSession::does_not_stop(kernel::SteadyTime now) const {
  if (shared_->replaced) return true;  // what it has become does not listen
  const auto since = now - shared_->stopped_at;
  const std::chrono::nanoseconds cpu = cpu_time() - shared_->cpu_at_stop;
  if (shared_->stop_acknowledged) return has_had_its_time(Heard::yes, since, cpu);
  if (shared_->request != Shared::Request::none) return false;  // it never begins
  return has_had_its_time(Heard::no, since, cpu);
}

void PythonSession::acknowledge_stop() {
  const kernel::KernelLock lock(kernel_.mutex());
  if (std::exchange(shared_->stop_acknowledged, true)) return;
  shared_->stopped_at = std::chrono::steady_clock::now();
  shared_->cpu_at_stop = cpu_time();
}

std::chrono::nanoseconds PythonSession::cpu_time() const {
  return process_->task != nullptr ? process_->task->cpu_time() : std::chrono::nanoseconds(0);
}

void PythonSession::repeat_stop() {
  const kernel::KernelLock lock(kernel_.mutex());
  if (shared_->stop_wanted != StopReason::none && !shared_->stop_acknowledged) tell_stop();
}

PythonSession::NextLook PythonSession::look_at_cpu(std::chrono::nanoseconds cpu) const {
  constexpr std::chrono::nanoseconds resolution = std::chrono::milliseconds(1);
  if (process_->task == nullptr || process_->task->sleeping()) return {std::nullopt, true};
  return {std::chrono::steady_clock::now() + std::max(cpu - cpu_time(), resolution)};
}

PythonSession::NextLook PythonSession::next_look(const TurnLimits& limits,
                                                 std::chrono::nanoseconds cpu_at_start) const {
  NextLook look;
  kernel::Deadline latest = process_->clock->next_look();
  if (shared_->stop_wanted == StopReason::none) {
    if (limits.cpu.count() > 0) look = look_at_cpu(cpu_at_start + limits.cpu);
  } else if (shared_->stop_acknowledged) {
    latest = shared_->stopped_at + to_leave_at_rest;
    const kernel::SteadyTime soonest = shared_->stopped_at + to_leave;
    const std::chrono::nanoseconds enough = shared_->cpu_at_stop + cpu_to_leave;
    look = cpu_time() >= enough ? NextLook{soonest} : look_at_cpu(enough);
    if (look.at) look.at = std::max(*look.at, soonest);
  } else if (shared_->request != Shared::Request::none) {
    latest = std::nullopt;  // it never begins, which is an answer
  } else {
    latest = shared_->stopped_at + to_hear;
    look = look_at_cpu(shared_->cpu_at_stop + cpu_to_hear);
  }
  if (latest) look.at = look.at ? std::min(*look.at, *latest) : latest;
  return look;
}

bool PythonSession::keep_within(const TurnLimits& limits, std::chrono::nanoseconds cpu_at_start) {
  const auto now = std::chrono::steady_clock::now();
  if (process_->clock->is_over(now)) begin_stop(StopReason::time);
  if (limits.cpu.count() > 0 && cpu_time() - cpu_at_start >= limits.cpu)
    begin_stop(StopReason::cpu);
  return shared_->stop_wanted == StopReason::none || !does_not_stop(now);
}

bool PythonSession::take_here(wasm::RunHere& here, const std::shared_ptr<Watch>& watch) {
  shared_->watch = watch;
  watch->look_again();
  {
    const kernel::KernelUnlocked unlocked(kernel_.mutex());
    here.run();
  }
  shared_->watch.reset();
  watch->end();
  return !watch->overdue() && wait_within(watch->limits());
}

bool PythonSession::wait_within(const TurnLimits& limits) {
  const std::chrono::nanoseconds cpu_at_start = cpu_time();
  kernel::Waiter waiter;
  kernel::WaitQueue* const queues[] = {&shared_->answer, &process_->ended, &process_->computes};
  while (!has_ended() && !(shared_->answered && shared_->outcome.returned())) {
    if (!keep_within(limits, cpu_at_start)) return false;
    const NextLook look = next_look(limits, cpu_at_start);
    (void)waiter.sleep(kernel_.mutex(), std::span(queues).first(look.when_it_computes ? 3 : 2),
                       look.at);
  }
  return true;
}

Result<std::shared_ptr<const wasm::MemoryImage>> PythonSession::capture() {
  kernel::ReleasableKernelLock lock(kernel_.mutex());
  if (is_gone()) return Errno::srch;
  shared_->answered = false;
  shared_->captured.reset();
  shared_->request = Shared::Request::capture;
  process_->clock = nullptr;
  CLOCHE_TRY(shared_->run_turn(*process_));
  (void)shared_->wait_for_answer(*process_);
  if (!shared_->captured) return is_gone() ? Errno::srch : shared_->capture_error;
  return std::exchange(shared_->captured, nullptr);
}

std::optional<std::string> PythonSession::working_folder() {
  const kernel::KernelLock lock(kernel_.mutex());
  if (!process_->cwd) return std::nullopt;  // it has ended
  const Result<std::string> path = kernel_.files().path_of(process_->cwd);
  return path ? std::optional(*path) : std::nullopt;
}

Result<std::unique_ptr<PythonSession>> PythonSession::fork(kernel::Kernel& kernel,
                                                           SessionOptions options) {
  CLOCHE_ASSIGN(std::shared_ptr<const wasm::MemoryImage> image, capture());
  if (std::optional<std::string> folder = working_folder(); folder && has_folder(kernel, *folder))
    options.cwd = *std::move(folder);
  return start_from(runtime_, kernel, std::move(options), std::move(image), Turn::resume,
                    shared_->fork_pages);
}

}  // namespace cloche::python
