#include "sandbox/run.h"

#include <fmt/format.h>

#include "kernel/host_ports.h"
#include "sandbox/input_pump.h"
#include "sandbox/sandbox_state.h"

namespace cloche::detail {
namespace {

constexpr int status_timed_out = 124;
constexpr int status_not_executable = 126;
constexpr int status_not_found = 127;
constexpr const char* shell = "/bin/sh";

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> argv_of(const RunOptions& options) {
  if (!options.argv.empty()) return options.argv;
  std::vector<std::string> argv{"sh", "-c", options.script};
  argv.insert(argv.end(), options.arguments.begin(), options.arguments.end());
  return argv;
}

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
    RunResult result;
    const Result<kernel::ProcessPtr> process = spawn();
    if (!process) {
      result = not_started(process.error());
    } else {
      wait(*process, start, result);
    }
    collect(result);
    result.duration = std::chrono::steady_clock::now() - start;
    return result;
  }

 private:
  Result<kernel::ProcessPtr> spawn() {
    kernel::SpawnRequest request;
    request.argv = argv_of(options_);
    request.environment = state_.environment(options_.environment);
    request.cwd = options_.cwd.empty()            ? std::string(home_folder)
                  : options_.cwd.starts_with('/') ? options_.cwd
                                                  : std::string(home_folder) + "/" + options_.cwd;
    CLOCHE_ASSIGN(request.path, program_path(request.argv.front()));
    out_ = make_output(Stream::out);
    err_ = make_output(Stream::err);
    if (options_.stdin_fd >= 0) {
      input_ = std::make_unique<kernel::HostPipe>(kernel_, kernel::HostPipe::Flow::to_guest);
      request.files[0] = input_->guest_end();
    } else {
      request.files[0] = std::make_shared<kernel::BytesFile>(kernel_, options_.stdin_data);
    }
    request.files[1] = out_;
    request.files[2] = err_;
    Result<kernel::ProcessPtr> process = kernel_.spawn(request);
    {
      const std::lock_guard lock(kernel_.mutex());
      request.files.clear();
    }
    if (input_) input_->release_guest_end();
    if (process && input_) pump_ = std::make_unique<InputPump>(options_.stdin_fd, *input_);
    return process;
  }

  // The shell for a script; for a program what PATH finds.
  Result<std::string> program_path(const std::string& name) {
    if (options_.argv.empty()) return std::string(shell);
    if (name.find('/') != std::string::npos) return name;
    const std::string path = state_.environment("PATH").value_or("/usr/bin");
    return state_.with_files([&](vfs::FileOps& ops) -> Result<std::string> {
      for (std::size_t start = 0; start <= path.size();) {
        const std::size_t end = std::min(path.find(':', start), path.size());
        std::string candidate = path.substr(start, end - start) + "/" + name;
        if (const auto info = ops.stat(candidate);
            info && info->stat.type == vfs::FileType::regular)
          return candidate;
        start = end + 1;
      }
      return Errno::noent;
    });
  }

  std::shared_ptr<kernel::CaptureFile> make_output(Stream stream) {
    kernel::CaptureFile::Sink sink;
    if (options_.output) {
      sink = [output = options_.output, stream](std::span<const std::byte> bytes) {
        output(stream, text_of(bytes));
      };
    }
    return std::make_shared<kernel::CaptureFile>(
        kernel_, options_.output ? 0 : options_.output_limit_bytes, std::move(sink));
  }

  void wait(const kernel::ProcessPtr& process, std::chrono::steady_clock::time_point start,
            RunResult& result) {
    const std::chrono::milliseconds limit = options_.timeout.value_or(state_.options().timeout);
    const kernel::Deadline deadline =
        limit.count() > 0 ? kernel::Deadline(start + limit) : std::nullopt;
    const std::optional<kernel::WaitStatus> status = kernel_.wait_for(process, deadline);
    if (!status) {
      kernel_.kill_job(process->job);
      (void)kernel_.wait_for(process, std::nullopt);
      result.status = RunStatus::timed_out;
      result.exit_code = status_timed_out;
      result.reason =
          fmt::format("the command was stopped at its time limit of {} ms", limit.count());
      return;
    }
    result.exit_code = status->shell_status();
    if (status->is_exited()) return;
    result.status =
        state_.cancellations() != cancellations_ ? RunStatus::killed : RunStatus::signaled;
    result.signal = status->term_signal();
    const std::lock_guard lock(kernel_.mutex());
    result.reason = result.status == RunStatus::killed ? "the command was cancelled"
                    : process->end_message.empty()
                        ? fmt::format("the command was ended by signal {}", result.signal)
                        : fmt::format("the command was ended by signal {}: {}", result.signal,
                                      process->end_message);
  }

  RunResult not_started(Errno error) {
    RunResult result;
    result.status = RunStatus::not_started;
    result.exit_code = error == Errno::noent ? status_not_found : status_not_executable;
    result.reason =
        fmt::format("cannot start {}: {}", options_.argv.empty() ? shell : options_.argv.front(),
                    errno_info(error).message);
    return result;
  }

  void collect(RunResult& result) {
    pump_.reset();
    input_.reset();
    const auto take = [this](std::shared_ptr<kernel::CaptureFile>& file, std::string& text,
                             bool& truncated) {
      if (!file) return;
      kernel::CaptureFile::Output output = file->take();
      if (!options_.output) {
        truncated = output.truncated();
        text = std::move(output.bytes);
      }
      const std::lock_guard lock(kernel_.mutex());
      file.reset();
    };
    take(out_, result.stdout_data, result.stdout_truncated);
    take(err_, result.stderr_data, result.stderr_truncated);
  }

  SandboxState& state_;
  kernel::Kernel& kernel_;
  const RunOptions& options_;
  const std::uint64_t cancellations_;
  std::shared_ptr<kernel::CaptureFile> out_;
  std::shared_ptr<kernel::CaptureFile> err_;
  std::unique_ptr<kernel::HostPipe> input_;
  std::unique_ptr<InputPump> pump_;
};

}  // namespace

RunResult run(SandboxState& state, const RunOptions& options) {
  return Run(state, options).perform();
}

}  // namespace cloche::detail
