// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/serve.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/unique_fd.h"
#include "cluster/spawner.h"
#include "doors/serve/isolation.h"
#include "doors/serve/options.h"
#include "doors/serve/running_server.h"
#include "doors/serve/signals.h"
#include "doors/steps/pages.h"

namespace cloche::serve {
namespace {

constexpr std::chrono::seconds ending_grace{10};  // of workers, after the time of what runs

int serve(Options options) {
  const Signals signals(!options.tokens_file.empty() || options.audit_log.has_value() ||
                        !options.http.tls_certificate.empty());
  if (options.isolation.by == Isolation::By::nothing)
    return RunningServer(std::move(options), nullptr, UniqueFd()).run(signals);
  const std::uint64_t memory_bytes = options.isolation.worker_memory_bytes;
  cluster::Spawner spawner({.memory_limit_bytes = memory_bytes + memory_bytes / 4,
                            .grace = options.drain + ending_grace,
                            .signals = signals.mask_before()},
                           [&options](cluster::WorkerTask task) {
                             const Signals its_own(false);
                             Options its_options = worker_options(options, task);
                             RunningServer worker(std::move(its_options), nullptr,
                                                  std::move(task.channel));
                             return worker.run(its_own);
                           });
  return RunningServer(front_options(options), &spawner, UniqueFd()).run(signals);
}

// Serves; what keeps it from that is said in a line, or as `usage` has it where the words are wrong.
template <typename Usage>
int serve_or_say(const std::vector<std::string>& words, Api api, std::string_view who,
                 const Usage& usage) {
  try {
    return serve(parse(words, api));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::request) {
      fmt::print(stderr, "{}", usage(error.sentence()));
      return usage_status;
    }
    fmt::print(stderr, "{}{}\n", who, error.sentence());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}{}\n", who, error.what());
  }
  return refused_status;
}

bool wants_help(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--help" || word == "-h") return true;
  }
  return false;
}

}  // namespace

int serve_command(const std::vector<std::string>& words) {
  if (wants_help(words)) {
    fmt::print("{}", help_page());
    return 0;
  }
  return serve_or_say(words, Api::sessions, "cloche serve: ", [](std::string_view sentence) {
    return fmt::format("cloche serve: {}; see cloche serve --help\n", sentence);
  });
}

int sbs_command(const std::string& name, const std::vector<std::string>& words) {
  const std::string usage = fmt::format(
      "usage: {0} [-h] {{run,skill}} ...\n"
      "       {0} run [-h] [--host HOST] [--port PORT]\n",
      name);
  static constexpr const char* help = R"page(
Session-based sandboxes over HTTP.

  run      start the server; it also takes the options of `cloche serve`
             --host HOST   where it listens (127.0.0.1)
             --port PORT   (8000)
  skill    print the page from which an agent learns to use it

SBS_STEP_TIMEOUT_SEC is the time limit of a step in seconds (30). API for a person: /docs
)page";
  if (!words.empty() && (words[0] == "skill" || words[0] == "run") && !wants_help(words)) {
    if (words[0] == "skill" && words.size() == 1) {
      fmt::print("{}", steps::skill_page());
      return 0;
    }
    if (words[0] == "run") {
      return serve_or_say({words.begin() + 1, words.end()}, Api::steps,
                          name + ": error: ", [&](std::string_view sentence) {
                            return fmt::format("{}{}: error: {}\n", usage, name, sentence);
                          });
    }
  }
  if (wants_help(words)) {
    fmt::print("{}{}", usage, help);
    return 0;
  }
  fmt::print(stderr, "{}{}: error: {}\n", usage, name,
             words.empty()         ? "the following arguments are required: command"
             : words[0] == "skill" ? "skill takes no arguments"
                                   : "argument command: invalid choice: '" + words[0] +
                                         "' (choose from 'run', 'skill')");
  return usage_status;
}

}  // namespace cloche::serve
