// SPDX-License-Identifier: Apache-2.0
#include "sandbox/run.h"

#include "kernel/host/host_ports.h"
#include "kernel/host/job_deadline.h"
#include "kernel/kernel.h"
#include "kernel/time/run_clock.h"
#include "sandbox/command.h"
#include "sandbox/input_pump.h"
#include "sandbox/sandbox_state.h"
#include "wasm/run_here.h"

namespace cloche::sandbox {
namespace {

// The run from its spawn to its result. The members that are ports outlive the guests' use of them:
// the job is killed, or lives on in the background with files that belong to the kernel.
class Run {
 public:
  Run(SandboxState& state, const RunOptions& options)
      : state_(state),
        kernel_(state.kernel()),
        options_(options),
        cancellations_(state.cancellations()) {}

  RunResult perform() {
    const auto start = std::chrono::steady_clock::now();
    const auto clock = std::make_shared<kernel::RunClock>(time_limit(), start);
    RunResult result;
    wasm::RunHere here;
    const Result<kernel::ProcessPtr> process = start_process(here, clock);
    if (!process) {
      result = ended_before_begin(state_, options_, process.error(), time_limit(), cancelled());
    } else {
      const kernel::JobId job = (*process)->job;
      const std::stop_callback on_stop(options_.stop,
                                       [&] { kernel_.signal_job(job, kernel::sigkill); });
      if (here.caught()) {
        be_the_process(here, *process, clock, result);
      } else {
        wait(*process, *clock, result);
      }
      // What began while the signal was given is left.
      if (options_.stop.stop_requested()) kernel_.kill_job(job);
    }
    collect(result);
    if (process) result.figures = state_.shown_figures().take((*process)->job);
    result.duration = std::chrono::steady_clock::now() - start;
    return result;
  }

 private:
  Result<kernel::ProcessPtr> start_process(wasm::RunHere& here,
                                           const std::shared_ptr<kernel::RunClock>& clock) {
    CLOCHE_ASSIGN(kernel::SpawnRequest request, command_request(state_, options_));
    outputs_.out = make_output(state_, options_, Stream::out);
    outputs_.err = make_output(state_, options_, Stream::err);
    if (options_.stdin_fd >= 0) {
      input_ = std::make_unique<kernel::HostPipe>(kernel_, kernel::HostPipe::Flow::to_guest);
      request.files[0] = input_->guest_end();
      // Before the process: nothing fails between its start and its end.
      pump_ = std::make_unique<InputPump>(options_.stdin_fd, *input_);
    } else {
      request.files[0] = std::make_shared<kernel::BytesFile>(kernel_, options_.stdin_data);
    }
    request.files[1] = outputs_.out.port->guest_end();
    request.files[2] = outputs_.err.port->guest_end();
    request.clock = clock;
    request.stop = options_.stop;
    Result<kernel::ProcessPtr> process = kernel_.spawn(std::move(request), &here);
    if (input_) input_->release_guest_end();
    outputs_.release_guest_ends();
    return process;
  }

  void wait(const kernel::ProcessPtr& process, const kernel::RunClock& clock, RunResult& result) {
    const std::optional<kernel::WaitStatus> status = kernel_.wait_for(process, clock);
    if (!status) {
      kernel_.kill_job(process->job);
      (void)kernel_.wait_for(process, std::nullopt);
      set_timed_out(result, time_limit());
      return;
    }
    set_done(process, *status, result);
  }

  // This thread executes the process by itself.
  void be_the_process(wasm::RunHere& here, const kernel::ProcessPtr& process,
                      const std::shared_ptr<kernel::RunClock>& clock, RunResult& result) {
    const kernel::JobDeadline deadline(kernel_, process->job, clock);
    here.run();
    const std::optional<kernel::WaitStatus> status = kernel_.wait_for(process, std::nullopt);
    if (deadline.refused()) {
      result = not_started(state_, options_, Errno::again);
    } else if (deadline.passed()) {
      kernel_.kill_job(process->job);
      set_timed_out(result, time_limit());
    } else {
      set_done(process, *status, result);
    }
  }

  std::chrono::milliseconds time_limit() const {
    return options_.timeout.value_or(state_.options().timeout);
  }

  void set_done(const kernel::ProcessPtr& process, kernel::WaitStatus status, RunResult& result) {
    let_settle(kernel_, process->job, outputs_);
    set_ended(result, status, *process, cancelled());
  }

  Cancelled cancelled() const {
    return state_.cancelled_since(cancellations_) || options_.stop.stop_requested() ? Cancelled::yes
                                                                                    : Cancelled::no;
  }

  void collect(RunResult& result) {
    pump_.reset();
    input_.reset();
    take_output(outputs_.out, options_, Stream::out, result);
    take_output(outputs_.err, options_, Stream::err, result);
  }

  SandboxState& state_;
  kernel::Kernel& kernel_;
  const RunOptions& options_;
  const std::uint64_t cancellations_;
  Outputs outputs_;
  std::unique_ptr<kernel::HostPipe> input_;
  std::unique_ptr<InputPump> pump_;
};

}  // namespace

RunResult run(SandboxState& state, const RunOptions& options) {
  if (options.shell == ShellState::kept && options.argv.empty()) return state.shell().run(options);
  return Run(state, options).perform();
}

}  // namespace cloche::sandbox
