// SPDX-License-Identifier: Apache-2.0
#include "sandbox/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/error.h"
#include "kernel/process/task.h"
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
  return state.with_files([&](vfs::PathOperations& ops) -> Result<std::string> {
    for (std::size_t start = 0; start <= path.size();) {
      const std::size_t end = std::min(path.find(':', start), path.size());
      std::string candidate = path.substr(start, end - start) + "/" + name;
      if (const auto info = ops.stat(candidate); info && info->stat.type == vfs::FileType::regular)
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

std::string directory_of(const std::string& cwd) {
  if (cwd.starts_with('/')) return cwd;
  return cwd.empty() ? std::string(home_folder) : std::string(home_folder) + "/" + cwd;
}

Result<void> check_directory(SandboxState& state, const std::string& cwd) {
  return state.with_files([&](vfs::PathOperations& ops) -> Result<void> {
    CLOCHE_ASSIGN(const auto info, ops.stat(directory_of(cwd)));
    if (info.stat.type != vfs::FileType::directory) return Errno::notdir;
    return {};
  });
}

Result<kernel::SpawnRequest> command_request(SandboxState& state, const RunOptions& options) {
  kernel::SpawnRequest request;
  request.environment = state.environment(options.environment);
  request.cwd = directory_of(options.cwd);
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

Result<kernel::ProcessPtr> spawn(kernel::Kernel& kernel, kernel::SpawnRequest request) {
  Result<kernel::ProcessPtr> process = kernel.spawn(request);
  const std::lock_guard lock(kernel.mutex());
  request.files.clear();
  request.terminal.reset();
  return process;
}

CleanOutput::Reader reader_of(OutputCallback output, Stream stream) {
  return [output = std::move(output), stream](std::string_view text) { output(stream, text); };
}

Output make_output(SandboxState& state, const RunOptions& options, Stream stream) {
  Output output{nullptr, state.clean_output()};
  kernel::CaptureFile::Sink sink;
  if (options.output) {
    sink = [reader = reader_of(options.output, stream),
            clean = output.clean](std::span<const std::byte> bytes) {
      clean.pass({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, reader);
    };
  }
  output.file = std::make_shared<kernel::CaptureFile>(
      state.kernel(), options.output ? 0 : options.output_limit_bytes, std::move(sink));
  return output;
}

void let_settle(kernel::Kernel& kernel, kernel::JobId job, const Outputs& outputs) {
  constexpr int most_rounds = 50;
  constexpr int quiet_rounds = 5;
  constexpr std::chrono::milliseconds round{1};
  int quiet = 0;
  for (int i = 0; i < most_rounds && quiet < quiet_rounds; ++i) {
    {
      const std::lock_guard lock(kernel.mutex());
      if (outputs.out.file.use_count() <= 1 && outputs.err.file.use_count() <= 1) return;
      const bool busy = std::ranges::any_of(kernel.processes(), [job](const auto& entry) {
        const kernel::Process& process = *entry.second;
        return process.job == job && process.task != nullptr && !process.task->sleeping();
      });
      quiet = busy ? 0 : quiet + 1;
    }
    std::this_thread::sleep_for(round);
  }
}

void take_output(kernel::Kernel& kernel, Output& output, const RunOptions& options, Stream stream,
                 RunResult& result) {
  if (!output.file) return;
  kernel::CaptureFile::Output written = output.file->finish();
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
  const std::lock_guard lock(kernel.mutex());
  output.file.reset();
}

RunResult not_started(SandboxState& state, const RunOptions& options, Errno error) {
  RunResult result;
  result.status = RunStatus::not_started;
  result.exit_code = not_started_status(error);
  const std::string what = options.argv.empty() ? std::string(shell) : options.argv.front();
  const Result<void> there = check_directory(state, options.cwd);
  result.reason = there ? fmt::format("cannot start {}: {}", what, errno_info(error).message)
                        : fmt::format("cannot start {} in {}: {}", what, directory_of(options.cwd),
                                      errno_info(there.error()).message);
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
  const std::lock_guard lock(process.kernel().mutex());
  result.reason = result.status == RunStatus::killed ? "the command was cancelled"
                  : process.end_message.empty()
                      ? fmt::format("the command was ended by signal {}", result.signal)
                      : fmt::format("the command was ended by signal {}: {}", result.signal,
                                    trap_words(process.end_message));
}

}  // namespace cloche::sandbox
