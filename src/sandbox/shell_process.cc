// SPDX-License-Identifier: Apache-2.0
#include "sandbox/shell_process.h"

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
  Shared(std::shared_ptr<const RestingShell> from, std::string folder)
      : resting(std::move(from)), home(std::move(folder)) {}

  std::shared_ptr<const RestingShell> resting
      GUARDED_BY(kernel::kernel_lock);  // to start from; then the latest
  std::string home;                     // where a shell without a directory is
  std::optional<std::string> request GUARDED_BY(kernel::kernel_lock);  // a frame
  bool copying GUARDED_BY(kernel::kernel_lock) =
      false;  // the resting shell must be made, by another thread
  wasm::Outcome outcome GUARDED_BY(kernel::kernel_lock);

  kernel::StartMemory start_memory(kernel::Kernel& kernel) EXCLUDES(kernel::kernel_lock);
  wasm::Outcome begin(kernel::Task& task) EXCLUDES(kernel::kernel_lock);
  kernel::StartupEnd take_requests(kernel::Task& task) EXCLUDES(kernel::kernel_lock);
  void perform(kernel::Task& task) REQUIRES(kernel::kernel_lock);
  std::optional<wasm::Outcome> run_handlers(kernel::Task& task) REQUIRES(kernel::kernel_lock);
  void copy(kernel::Task& task) REQUIRES(kernel::kernel_lock);
};

kernel::StartMemory ShellProcess::Shared::start_memory(kernel::Kernel& kernel) {
  const kernel::KernelLock lock(kernel.mutex());
  return {.image = resting ? resting->memory : nullptr};
}

wasm::Outcome ShellProcess::Shared::begin(kernel::Task& task) {
  std::shared_ptr<const RestingShell> from;
  {
    const kernel::KernelLock lock(task.kernel().mutex());
    from = resting;
  }
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
  return task.instance().call("cloche_shell_resume");
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
  if ((outcome.result.as_i32() & turn_changed) != 0) copying = true;
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

void ShellProcess::Shared::copy(kernel::Task& task) {
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
  auto memory = [&]() REQUIRES(kernel::kernel_lock) {
    const kernel::KernelUnlocked unlocked(task.kernel().mutex());
    return wasm::MemoryImage::capture(task.instance());
  }();
  // Without memory for it the one before stays.
  if (memory) {
    next->memory = *std::move(memory);
    resting = std::move(next);
  }
  copying = false;
  answer.wake_all();
}

Result<std::unique_ptr<ShellProcess>> ShellProcess::start(kernel::Kernel& kernel,
                                                          const std::string& home,
                                                          std::shared_ptr<const RestingShell> from,
                                                          const std::stop_token& stop) {
  kernel::ProgramTag tag = 0;
  {
    const kernel::KernelLock lock(kernel.mutex());
    CLOCHE_ASSIGN(const vfs::Node node,
                  kernel.files().lookup(kernel.files().root(), shell_path, vfs::Follow::yes, {}));
    tag = node.fs().program(node.ino());
  }
  if (tag == 0) return Errno::noexec;
  CLOCHE_ASSIGN(const std::shared_ptr<const kernel::Program> bash,
                kernel::load_for_host(kernel, tag, [&stop] { return stop.stop_requested(); }));
  // A bash of the user's own, mounted over ours, cannot be kept.
  if (!bash->module->module().info().has_export("cloche_shell_turn")) return Errno::noexec;
  auto shared = std::make_shared<Shared>(from, home);
  auto program = std::make_shared<kernel::Program>(*bash);
  program->startup.memory = [shared](kernel::Task& task) {
    return shared->start_memory(task.kernel());
  };
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
