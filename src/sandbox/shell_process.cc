// SPDX-License-Identifier: Apache-2.0
#include "sandbox/shell_process.h"

#include <atomic>
#include <new>
#include <utility>

#include "kernel/host/resident.h"
#include "kernel/kernel.h"
#include "kernel/process/exec.h"
#include "kernel/process/spawn_request.h"
#include "sandbox/sandbox_state.h"
#include "wasm/host_failure.h"
#include "wasm/run_here.h"

namespace cloche::sandbox {
namespace {

constexpr std::string_view shell_path = "/bin/bash";

// The result of a turn, see kept.c.
constexpr std::int32_t turn_status = 0xff;
constexpr std::int32_t turn_changed = 0x200;

std::uint64_t next_version() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

// No fork has it, and nobody else's memory lies over it.
bool is_ours_alone(const std::shared_ptr<const RestingShell>& shell, wasm::Instance& instance) {
  const auto& base = instance.memory_map().base;
  long holders = 1;
  if (shell->memory == base) ++holders;
  if (instance.image() == base.get()) ++holders;
  return shell.use_count() == 1 && base.use_count() == holders;
}

Result<kernel::ProgramTag> find_bash(kernel::Kernel& kernel) {
  const kernel::KernelLock lock(kernel.mutex());
  CLOCHE_ASSIGN(const vfs::Node node,
                kernel.files().lookup(kernel.files().root(), shell_path, vfs::Follow::yes, {}));
  const kernel::ProgramTag tag = node.fs().program(node.ino());
  if (tag == 0) return Errno::noexec;
  return tag;
}

Result<std::shared_ptr<const kernel::Program>> load_bash(kernel::Kernel& kernel,
                                                         const std::stop_token& stop) {
  CLOCHE_ASSIGN(const kernel::ProgramTag tag, find_bash(kernel));
  return kernel::load_for_host(kernel, tag, [&stop] { return stop.stop_requested(); });
}

wasm::Outcome take_turn(wasm::Instance& instance, std::string_view frame) {
  const auto size = static_cast<std::uint32_t>(frame.size());
  wasm::Outcome outcome = instance.call("cloche_shell_buffer", {wasm::Value::i32(size)});
  if (!outcome.returned()) return outcome;
  const std::uint32_t address = outcome.result.as_u32();
  if (!instance.memory().copy_out(address, frame))
    return wasm::host_failure("the script has no place");
  return instance.call("cloche_shell_turn", {wasm::Value::i32(address)});
}

}  // namespace

// What the two sides say to each other.
struct ShellProcess::Shared : kernel::Resident {
  Shared(const std::shared_ptr<const RestingShell>& from, std::string folder)
      : origin(from),
        resting(from && !from->has_just_started ? from : nullptr),
        home(std::move(folder)) {}

  std::shared_ptr<const RestingShell> origin;  // for the task that begins
  std::shared_ptr<const RestingShell> resting GUARDED_BY(kernel::kernel_lock);  // the latest
  std::string home;  // where a shell without a directory is
  std::optional<std::string> request GUARDED_BY(kernel::kernel_lock);  // a frame
  bool sets_variables GUARDED_BY(kernel::kernel_lock) = false;         // the request does
  bool copying GUARDED_BY(kernel::kernel_lock) =
      false;  // the resting shell must be made, by another thread
  wasm::Outcome outcome GUARDED_BY(kernel::kernel_lock);

  kernel::StartMemory start_memory() const;
  wasm::Outcome begin(kernel::Task& task) EXCLUDES(kernel::kernel_lock);
  kernel::StartupEnd take_requests(kernel::Task& task) EXCLUDES(kernel::kernel_lock);
  void perform(kernel::Task& task) REQUIRES(kernel::kernel_lock);
  std::optional<wasm::Outcome> run_handlers(kernel::Task& task) REQUIRES(kernel::kernel_lock);
  std::shared_ptr<RestingShell> without_memory(kernel::Task& task) const
      REQUIRES(kernel::kernel_lock);
  void copy(kernel::Task& task) REQUIRES(kernel::kernel_lock);
  void pack(kernel::Task& task) noexcept REQUIRES(kernel::kernel_lock);
};

kernel::StartMemory ShellProcess::Shared::start_memory() const {
  if (!origin) return {};
  return {.image = origin->memory, .packed = origin->packed};
}

wasm::Outcome ShellProcess::Shared::begin(kernel::Task& task) {
  const std::shared_ptr<const RestingShell> from = std::exchange(origin, nullptr);
  if (!from) return task.instance().call("cloche_shell_start");
  {
    const kernel::KernelLock lock(task.kernel().mutex());
    kernel::Process& process = task.process();
    process.memory = from->map;
    process.signals = from->signals;
    process.umask = from->umask;
    process.nice = from->nice;
    process.limits = from->limits;
    task.note_memory(task.instance().memory().size());
  }
  return task.instance().call(from->has_just_started ? "cloche_shell_begin"
                                                     : "cloche_shell_resume");
}

kernel::StartupEnd ShellProcess::Shared::take_requests(kernel::Task& task) {
  kernel::ReleasableKernelLock lock(task.kernel().mutex());
  for (;;) {
    if (copying && (request || !hosted)) {
      copy(task);
    } else if (request) {
      perform(task);
      if (!outcome.returned() || task.unwinding()) return outcome;
    } else {
      if (const std::optional<wasm::Outcome> end = run_handlers(task)) return *end;
      // The lock was free while handlers ran: a turn that was asked for then finds no other taker.
      if (request || (copying && !hosted)) continue;
      return kernel::AtRest{lock.hand_over()};
    }
  }
}

void ShellProcess::Shared::perform(kernel::Task& task) {
  const std::string frame = *std::exchange(request, std::nullopt);
  wasm::Outcome end;
  {
    const kernel::KernelUnlocked unlocked(task.kernel().mutex());
    end = take_turn(task.instance(), frame);
  }
  outcome = std::move(end);
  if (!outcome.returned() || task.unwinding()) return;
  // A shell without a resting one is brought back as a new one, whose variables are set again.
  if ((outcome.result.as_i32() & turn_changed) != 0 || (sets_variables && resting)) copying = true;
  answered = true;
  answer.wake_all();
}

// A signal between two turns: a job of the background has ended, or the shell must end.
std::optional<wasm::Outcome> ShellProcess::Shared::run_handlers(kernel::Task& task) {
  while (task.attend()) {
    wasm::Outcome end;
    if (!task.unwinding()) {
      {
        const kernel::KernelUnlocked unlocked(task.kernel().mutex());
        end = task.instance().call("__cloche_signal");
      }
      if (end.returned() && !task.unwinding()) continue;
    }
    if (task.unwinding()) end.ending = wasm::Ending::exited;
    return end;
  }
  return std::nullopt;
}

std::shared_ptr<RestingShell> ShellProcess::Shared::without_memory(kernel::Task& task) const {
  kernel::Process& process = task.process();
  auto next = std::make_shared<RestingShell>();
  next->map = process.memory;
  next->map.forget_shared();
  next->signals = process.signals.for_child();
  next->umask = process.umask;
  next->nice = process.nice;
  next->limits = process.limits;
  next->directory = task.kernel().files().path_of(process.cwd).ok()
                        ? *task.kernel().files().path_of(process.cwd)
                        : home;
  return next;
}

void ShellProcess::Shared::copy(kernel::Task& task) {
  const std::shared_ptr<RestingShell> next = without_memory(task);
  next->version = next_version();
  auto memory = [&, unused = task.process().memory.unused()]() REQUIRES(kernel::kernel_lock) {
    const kernel::KernelUnlocked unlocked(task.kernel().mutex());
    return wasm::MemoryImage::capture(task.instance(), [&](wasm::Instance&) { return unused; });
  }();
  // Without memory for it the one before stays.
  if (memory) {
    next->memory = *std::move(memory);
    resting = next;
  }
  copying = false;
  answer.wake_all();
}

// What the process is and what it can be brought back to are the same between two turns, and are
// packed as one. Where others share what lies under it the differences from that take less.
void ShellProcess::Shared::pack(kernel::Task& task) noexcept try {
  wasm::Instance& instance = task.instance();
  const wasm::MemoryMap& map = instance.memory_map();
  if (map.packed) return;
  const std::vector<wasm::PageRun> unused = task.process().memory.unused();
  wasm::give_back_unused(instance, unused);
  const bool is_first = map.base && map.base->first() == map.base;
  if (copying || !resting || !map.base || (!is_first && !is_ours_alone(resting, instance))) {
    (void)wasm::pack_memory(instance);
    return;
  }
  const std::shared_ptr<RestingShell> next = without_memory(task);
  next->version = resting->version;
  next->packed = wasm::pack_as_image(instance, unused);
  if (next->packed) resting = next;
} catch (const std::bad_alloc&) {
  return;
}

Result<void> ShellProcess::make_ready(kernel::Kernel& kernel, const std::stop_token& stop) {
  CLOCHE_TRY(load_bash(kernel, stop));
  return {};
}

Result<std::unique_ptr<ShellProcess>> ShellProcess::start(
    kernel::Kernel& kernel, const std::string& home, std::shared_ptr<const RestingShell> from) {
  CLOCHE_ASSIGN(const std::shared_ptr<const kernel::Program> bash, load_bash(kernel, {}));
  // A bash of the user's own, mounted over ours, cannot be kept.
  if (!bash->module->module().info().has_export("cloche_shell_turn")) return Errno::noexec;
  auto shared = std::make_shared<Shared>(from, home);
  auto program = std::make_shared<kernel::Program>(*bash);
  program->startup.memory = [shared](kernel::Task&) { return shared->start_memory(); };
  program->startup.pack = [shared](kernel::Task& task)
                              REQUIRES(kernel::kernel_lock) { shared->pack(task); };
  program->startup.run = [shared](kernel::Task& task) {
    return shared->serve(
        task, [&] { return shared->begin(task); }, [&] { return shared->take_requests(task); });
  };

  kernel::SpawnRequest request;
  request.path = shell_path;
  request.program = std::move(program);
  request.argv = {"bash"};
  request.begin = kernel::SpawnRequest::Begin::parked;
  request.cwd = from ? from->directory : home;
  Result<kernel::ProcessPtr> process = kernel.spawn(request);
  if (!process && from) {
    // Its directory is gone.
    request.cwd = home;
    process = kernel.spawn(std::move(request));
  }
  if (!process) return process.error();
  return std::unique_ptr<ShellProcess>(
      new ShellProcess(kernel, std::move(shared), *std::move(process)));
}

ShellProcess::ShellProcess(kernel::Kernel& kernel, std::shared_ptr<Shared> shared,
                           kernel::ProcessPtr process)
    : kernel_(kernel),
      shared_(std::move(shared)),
      process_(kernel.mutex(), std::move(process)),
      idle_files_(kernel.mutex()) {
  const kernel::HostCapture nowhere(kernel_, 0);
  const kernel::KernelLock lock(kernel_.mutex());
  idle_files_.hold({std::make_shared<kernel::BytesFile>(kernel_, std::string()),
                    nowhere.guest_end(), nowhere.guest_end()});
}

ShellProcess::~ShellProcess() {
  // Its job between turns has no other members.
  kernel_.kill_job(process_->job);
  (void)kernel_.wait_for(process(), std::nullopt);
}

// Lock held; the process sleeps.
void ShellProcess::set_files(const std::array<kernel::FilePtr, 3>& files) {
  for (std::int32_t fd = 0; fd < 3; ++fd)
    (void)process_->fds.install_at(fd, files[static_cast<std::size_t>(fd)], 0);
}

// Lock held.
bool ShellProcess::is_gone() const { return shared_->is_gone(*process_); }

ShellTurnResult ShellProcess::run(ShellTurn turn, std::chrono::milliseconds limit,
                                  const std::stop_token& stop) {
  const auto clock = std::make_shared<kernel::RunClock>(limit);
  ShellTurnResult result;
  kernel::ReleasableKernelLock lock(kernel_.mutex());
  const kernel::JobId own_job = process_->job;
  const kernel::JobId job = kernel_.new_job();
  result.job = job;
  shared_->answered = false;
  lock.unlock();
  // It takes the kernel lock. Whoever asks before the shell has the job finds nobody in it: that is
  // looked for when it has.
  const std::stop_callback on_stop(stop, [this, job] { kernel_.signal_job(job, kernel::sigkill); });
  lock.lock();
  bool in_time = true;
  if (!is_gone()) {
    process_->job = job;
    process_->clock = clock;
    set_files(turn.files);
    shared_->request = std::move(turn.frame);
    shared_->sets_variables = turn.sets_variables;
    turn.files = {};
    if (stop.stop_requested()) {
      lock.unlock();
      kernel_.signal_job(job, kernel::sigkill);
      lock.lock();
    }
    const Result<bool> taken = shared_->run_turn(*process_);
    in_time = taken && *taken;
    if (shared_->copying && !is_gone()) (void)kernel_.resume(*process_);
  }
  turn.files = {};
  if (in_time && shared_->answered) {
    process_->job = own_job;
    process_->clock = nullptr;
    set_files(idle_files_.get());
    result.exit_code = shared_->outcome.result.as_i32() & turn_status;
    lock.unlock();  // before on_stop goes, which waits for a call in progress
    return result;
  }
  result.replaced = shared_->replaced;
  lock.unlock();
  // It has ended, or is another program now.
  std::optional<kernel::WaitStatus> status;
  if (in_time) status = kernel_.wait_for(process(), *clock);
  if (!status) {
    result.overdue = is_over(*clock);
    kernel_.kill_job(job);
    status = kernel_.wait_for(process(), std::nullopt);
  }
  result.stopped = stop.stop_requested();
  if (result.stopped) kernel_.kill_job(job);  // what began while the signal was given
  result.status = *status;
  return result;
}

bool ShellProcess::is_over(const kernel::RunClock& clock) const {
  const kernel::KernelLock lock(kernel_.mutex());
  return clock.is_over();
}

bool ShellProcess::gone() {
  const kernel::KernelLock lock(kernel_.mutex());
  return is_gone();
}

std::shared_ptr<const RestingShell> ShellProcess::just_started() {
  {
    const kernel::KernelLock lock(kernel_.mutex());
    shared_->copying = true;
  }
  const std::shared_ptr<const RestingShell> shell = resting();
  if (!shell) return nullptr;
  auto started = std::make_shared<RestingShell>(*shell);
  started->has_just_started = true;
  return started;
}

std::shared_ptr<const RestingShell> ShellProcess::resting() {
  kernel::ReleasableKernelLock lock(kernel_.mutex());
  kernel::Waiter waiter;
  kernel::WaitQueue* const queues[] = {&shared_->answer, &process_->ended};
  while (shared_->copying && !is_gone()) {
    wasm::RunHere here;
    (void)kernel_.resume(*process_, &here);
    if (here.caught()) {
      lock.unlock();
      here.run();
      lock.lock();
    } else {
      (void)waiter.sleep(kernel_.mutex(), queues, std::nullopt);
    }
  }
  return shared_->resting;
}

}  // namespace cloche::sandbox
