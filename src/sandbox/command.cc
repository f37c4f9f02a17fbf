// SPDX-License-Identifier: Apache-2.0
#include "sandbox/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "kernel/kernel.h"
#include "kernel/process/task.h"
#include "sandbox/exit_codes.h"
#include "sandbox/sandbox_state.h"

namespace cloche::sandbox {
namespace {

constexpr const char* shell = "/bin/bash";

bool is_login(const RunOptions& options) {
  return options.argv.empty() && options.script.empty() && options.arguments.empty();
}

std::vector<std::string> argv_of(const RunOptions& options) {
  if (!options.argv.empty()) return options.argv;
  std::vector<std::string> argv{"bash", "-c", options.script};
  argv.insert(argv.end(), options.arguments.begin(), options.arguments.end());
  return argv;
}

Result<std::string> find_in_path(SandboxState& state, const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const std::string path = state.environment("PATH").value_or("/usr/bin");
  return state.with_files([&](vfs::PathOperations& files) -> Result<std::string> {
    for (std::size_t start = 0; start <= path.size();) {
      const std::size_t end = std::min(path.find(':', start), path.size());
      std::string candidate = path.substr(start, end - start) + "/" + name;
      if (const auto info = files.stat(candidate);
          info && info->stat.type == vfs::FileType::regular)
        return candidate;
      start = end + 1;
    }
    return Errno::noent;
  });
}

// wasmtime's words on a trap without the list of functions that it came through.
std::string_view trap_words(std::string_view message) {
  constexpr std::string_view mark = "wasm trap: ";
  if (const std::size_t at = message.rfind(mark); at != std::string_view::npos)
    message.remove_prefix(at + mark.size());
  const std::size_t end = message.find_last_not_of(" \n");
  return end == std::string_view::npos ? std::string_view() : message.substr(0, end + 1);
}

}  // namespace

std::string directory_of(const SandboxState& state, const RunOptions& options) {
  if (options.cwd.starts_with('/')) return options.cwd;
  const std::string home = options.account == Account::root ? std::string(root_home) : state.home();
  return options.cwd.empty() ? home : home + "/" + options.cwd;
}

Result<void> check_directory(SandboxState& state, const RunOptions& options) {
  return state.with_files(options.account, [&](vfs::PathOperations& files) -> Result<void> {
    CLOCHE_ASSIGN(const auto info, files.stat(directory_of(state, options)));
    if (info.stat.type != vfs::FileType::directory) return Errno::notdir;
    return {};
  });
}

Result<kernel::SpawnRequest> command_request(SandboxState& state, const RunOptions& options) {
  kernel::SpawnRequest request;
  std::map<std::string, std::string> environment = options.environment;
  if (options.account == Account::root) {
    environment.try_emplace("HOME", root_home);
    environment.try_emplace("USER", "root");
    environment.try_emplace("LOGNAME", "root");
  }
  request.environment = state.environment(environment);
  request.credentials = state.credentials(options.account);
  request.cwd = directory_of(state, options);
  request.argv = argv_of(options);
  if (!options.argv.empty()) {
    CLOCHE_ASSIGN(request.path, find_in_path(state, options.argv.front()));
  } else {
    request.path = shell;
  }
  return request;
}

Result<kernel::SpawnRequest> live_command_request(SandboxState& state, const RunOptions& options) {
  CLOCHE_ASSIGN(kernel::SpawnRequest request, command_request(state, options));
  if (is_login(options)) {
    request.path = shell;
    request.argv = {"-bash"};
  }
  return request;
}

CleanOutput::Reader reader_of(OutputCallback output, Stream stream) {
  return [output = std::move(output), stream](std::string_view text) { output(stream, text); };
}

Output make_output(SandboxState& state, const RunOptions& options, Stream stream) {
  Output output{nullptr, state.clean_output()};
  kernel::HostCapture::Sink sink;
  if (options.output) {
    sink = [reader = reader_of(options.output, stream),
            clean = output.clean](std::span<const std::byte> bytes) {
      clean.pass({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, reader);
    };
  }
  output.port = std::make_unique<kernel::HostCapture>(
      state.kernel(), options.output ? 0 : options.output_limit_bytes, std::move(sink));
  return output;
}

void Outputs::release_guest_ends() {
  for (Output* output : {&out, &err}) {
    if (output->port) output->port->release_guest_end();
  }
}

bool Outputs::are_open() const { return out.port->is_open() || err.port->is_open(); }

std::array<kernel::WaitQueue*, 2> Outputs::closed() const {
  return {&out.port->closed(), &err.port->closed()};
}

void let_settle(kernel::Kernel& kernel, kernel::JobId job, const Outputs& outputs) {
  // Of computing, not of waiting for a processor: on a busy machine it takes the longer.
  constexpr std::chrono::milliseconds longest_computing{50};
  constexpr std::chrono::seconds longest{2};
  constexpr std::chrono::milliseconds quiet_for{5};
  if (!outputs.out.port) return;
  const kernel::KernelLock lock(kernel.mutex());
  const auto is_busy = [&]() REQUIRES(kernel::kernel_lock) {
    return std::ranges::any_of(
        kernel.processes(), [job](const auto& entry) REQUIRES(kernel::kernel_lock) {
          const kernel::Process& process = *entry.second;
          return process.job == job && process.task != nullptr && !process.task->sleeping();
        });
  };
  const auto [out_closed, err_closed] = outputs.closed();
  const std::array<kernel::WaitQueue*, 3> queues{out_closed, err_closed,
                                                 &kernel.computing_changed()};
  const auto end = std::chrono::steady_clock::now() + longest;
  const auto computed_at_most = kernel.cpu_time() + longest_computing;
  auto quiet_since = end - longest;
  kernel::Waiter waiter;
  for (bool was_busy = true; outputs.are_open();) {
    const auto now = std::chrono::steady_clock::now();
    const bool busy = is_busy();
    if (busy || was_busy) quiet_since = now;
    was_busy = busy;
    const auto until = std::min(
        end, busy ? now + (computed_at_most - kernel.cpu_time()) : quiet_since + quiet_for);
    if (now >= until) return;
    (void)waiter.sleep(kernel.mutex(), queues, until);
  }
}

void take_output(Output& output, const RunOptions& options, Stream stream, RunResult& result) {
  if (!output.port) return;
  kernel::HostCapture::Output written = output.port->finish();
  if (options.output) {
    output.clean.end(reader_of(options.output, stream));
  } else {
    const bool truncated = written.truncated();
    std::string text =
        output.clean.clean(std::move(written.bytes),
                           truncated ? CleanOutput::Text::cut_off : CleanOutput::Text::whole);
    (stream == Stream::out ? result.stdout_data : result.stderr_data) = std::move(text);
    (stream == Stream::out ? result.stdout_truncated : result.stderr_truncated) = truncated;
  }
  output.port.reset();
}

RunResult not_started(SandboxState& state, const RunOptions& options, Errno error) {
  RunResult result;
  result.status = RunStatus::not_started;
  result.exit_code = not_started_status(error);
  const std::string what = options.argv.empty() ? std::string(shell) : options.argv.front();
  const Result<void> there = check_directory(state, options);
  result.reason = there
                      ? fmt::format("cannot start {}: {}", what, errno_info(error).message)
                      : fmt::format("cannot start {} in {}: {}", what, directory_of(state, options),
                                    errno_info(there.error()).message);
  return result;
}

RunResult ended_before_begin(SandboxState& state, const RunOptions& options, Errno error,
                             std::chrono::milliseconds limit, Cancelled cancelled) {
  RunResult result;
  if (error == Errno::timedout) {
    set_timed_out(result, limit);
  } else if (error == Errno::intr && cancelled == Cancelled::yes) {
    result = cancelled_before_it_began("the command");
    result.signal = kernel::sigkill;
  } else {
    result = not_started(state, options, error);
  }
  return result;
}

void set_timed_out(RunResult& result, std::chrono::milliseconds limit) {
  result.status = RunStatus::timed_out;
  result.exit_code = status_timed_out;
  result.reason = fmt::format("the command was stopped at its time limit of {} ms", limit.count());
}

void set_ended(RunResult& result, kernel::WaitStatus status, const kernel::Process& process,
               Cancelled cancelled) {
  result.exit_code = status.shell_status();
  if (status.is_exited()) return;
  result.status = cancelled == Cancelled::yes ? RunStatus::killed : RunStatus::signaled;
  result.signal = status.term_signal();
  const kernel::KernelLock lock(process.kernel().mutex());
  result.reason = result.status == RunStatus::killed ? "the command was cancelled"
                  : process.end_message.empty()
                      ? fmt::format("the command was ended by signal {}", result.signal)
                      : fmt::format("the command was ended by signal {}: {}", result.signal,
                                    trap_words(process.end_message));
}

}  // namespace cloche::sandbox
