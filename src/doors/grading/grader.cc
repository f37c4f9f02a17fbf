// SPDX-License-Identifier: Apache-2.0
#include "doors/grading/grader.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "doors/grading/fair_deadline.h"

namespace cloche::grading {
namespace {

RunVerdict sandbox_error(std::string sentence) {
  RunVerdict verdict;
  verdict.message = std::move(sentence);
  return verdict;
}

// Empty, or why they cannot be there.
std::string put_files(Sandbox& sandbox, const RunRequest& request) {
  const auto put = [&](const std::string& path, const std::string& content) -> std::string {
    const Result<void> written = sandbox.files().write(path, content);
    if (written) return {};
    return fmt::format("{} cannot be written: {}", path.substr(0, 200),
                       errno_info(written.error()).message);
  };
  for (const auto& [path, content] : request.files) {
    if (std::string problem = put(path, content); !problem.empty()) return problem;
  }
  return put(request.file_name, request.code);
}

// Empty, or why they cannot be had. What is no file is left out.
std::string fetch_files(Sandbox& sandbox, const RunRequest& request, RunVerdict& verdict) {
  std::uint64_t left = Grader::fetch_limit_bytes;
  for (const std::string& path : request.fetch_files) {
    const auto info = sandbox.files().stat(path);
    if (!info || info->kind != FileKind::file) continue;
    const auto content = sandbox.files().read(path, left);
    if (!content && content.error() == Errno::fbig) {
      return fmt::format("the files to fetch have more than {} bytes together",
                         Grader::fetch_limit_bytes);
    }
    if (!content) continue;
    left -= content->size();
    verdict.files.insert_or_assign(path, *content);
  }
  return {};
}

}  // namespace

RunVerdict Grader::grade(const RunRequest& request, const std::stop_token& stop) try {
  SandboxOptions options = sandbox_;
  if (request.memory_limit_bytes != 0)
    options.memory_limit_bytes = std::min(options.memory_limit_bytes, request.memory_limit_bytes);
  const std::unique_ptr<Sandbox> sandbox = engine_.create(options);
  if (std::string problem = put_files(*sandbox, request); !problem.empty())
    return sandbox_error(std::move(problem));

  RunOptions run;
  run.argv = {request.program, request.file_name};
  run.stdin_data = request.input;
  run.timeout = std::chrono::milliseconds(0);
  run.output_limit_bytes = output_limit_bytes;
  RunResult result;
  FairDeadline::Verdict in_time = FairDeadline::Verdict::within;
  {
    FairDeadline deadline(timers_, *sandbox, request.timeout);
    const std::stop_callback ending(stop, [&deadline] { deadline.stop().request_stop(); });
    run.stop = deadline.stop().get_token();
    result = sandbox->run(run);
    in_time = deadline.verdict();
  }
  RunVerdict verdict;
  verdict.out = std::move(result.stdout_data);
  verdict.err = std::move(result.stderr_data);
  verdict.duration = result.duration;
  switch (result.status) {
    case RunStatus::exited:
      verdict.outcome = Outcome::finished;
      verdict.return_code = result.exit_code;
      break;
    case RunStatus::signaled:
      verdict.outcome = Outcome::finished;
      verdict.return_code = -result.signal;
      break;
    case RunStatus::not_started: return sandbox_error(result.reason);
    case RunStatus::timed_out:
    case RunStatus::killed:
      if (in_time == FairDeadline::Verdict::starved)
        return sandbox_error("the machine is too busy to give the code its time: try again");
      if (in_time == FairDeadline::Verdict::within)
        return sandbox_error("the server is about to end");
      verdict.outcome = Outcome::time_limit_exceeded;
      break;
  }
  if (std::string problem = fetch_files(*sandbox, request, verdict); !problem.empty())
    return sandbox_error(std::move(problem));
  return verdict;
} catch (const std::exception& problem) {
  return sandbox_error(problem.what());
}

}  // namespace cloche::grading
