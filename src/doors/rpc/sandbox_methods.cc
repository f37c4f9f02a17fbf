// SPDX-License-Identifier: Apache-2.0
// Sandboxes themselves: made, forked, taken back, saved; their environment and packages.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/base64.h"
#include "cloche/archive.h"
#include "cloche/version.h"
#include "doors/rpc/methods.h"
#include "doors/rpc/state_file.h"
#include "sandbox/shell_question.h"

namespace cloche::rpc::sandboxes {
namespace {

Error exists() {
  return request_error("this connection has its sandbox: sandbox.create makes another one",
                       Errno::exist);
}

std::string environment_name(const Params& params) {
  std::string name = params.word("name");
  if (name.empty() || name.find('=') != std::string::npos)
    throw request_error(fmt::format("'{}' is no name of a variable", name));
  return name;
}

bool is_identifier(std::string_view name) {
  const auto is_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  return !name.empty() && std::ranges::all_of(name, is_word) && !(name[0] >= '0' && name[0] <= '9');
}

// A file of this machine that the client names.
std::optional<std::string> host_path(Call& call, const char* name) {
  const std::optional<std::string> path = call.params.optional_word(name);
  if (path) call.connection.backend().admit_host_path(name);
  return path;
}

RunOptions until_cancelled(const Call& call) {
  RunOptions options;
  options.stop = call.queue->stop_token();
  return options;
}

const LiveSandbox& snapshot(Call& call) {
  const std::string id = call.params.text("id");
  const auto found = call.queue->snapshots().find(id);
  if (found == call.queue->snapshots().end())
    throw request_error(fmt::format("there is no snapshot '{}'", id), Errno::noent);
  return found->second;
}

// Those that the client talks with, which keep their sandbox while they run.
void stop_commands(Connection& connection, Subject& subject) {
  try {
    connection.commands().stop_in(*subject.live().sandbox);
  } catch (const RpcError&) {  // one that cannot be had now, such as a paused session, runs nothing
  } catch (const Error&) {
  }
}

// What was just made is the subject of the queue, with the commands that the client serves there.
void take_subject(Connection& connection, SandboxQueue& queue, std::shared_ptr<Subject> subject,
                  const Json* commands) {
  if (commands != nullptr) {
    try {
      client_commands::give(connection, queue, *subject, *commands);
    } catch (...) {
      subject->destroy();
      throw;
    }
  }
  queue.set_subject(std::move(subject));
}

}  // namespace

Reply create(Call& call) {
  if (call.queue->subject()) throw exists();
  Backend::Made made = call.connection.backend().create(call.connection, call.params);
  take_subject(call.connection, *call.queue, std::move(made.subject), call.params.find("commands"));
  Reply reply = ok();
  reply.update(made.facts);
  return reply;
}

Reply create_another(Call& call) {
  Reply reply{{"sandboxId", call.queue->name()}};
  try {
    Backend::Made made = call.connection.backend().create(call.connection, call.params);
    take_subject(call.connection, *call.queue, std::move(made.subject),
                 call.params.find("commands"));
    reply.update(made.facts);
  } catch (...) {
    call.connection.remove_queue(call.queue->name());
    throw;
  }
  return reply;
}

Reply fork(Call& call) {
  Backend::Made made = call.connection.backend().fork(*call.subject());
  const std::shared_ptr<SandboxQueue> queue = call.connection.add_queue();
  const Json& commands = call.queue->commands();
  try {
    take_subject(call.connection, *queue, std::move(made.subject),
                 commands.is_null() ? nullptr : &commands);
  } catch (...) {
    call.connection.remove_queue(queue->name());
    throw;
  }
  Reply reply{{"sandboxId", queue->name()}};
  reply.update(made.facts);
  return reply;
}

Reply list(Call& call) {
  Reply entries = Reply::array();
  for (const std::shared_ptr<SandboxQueue>& queue : call.connection.queues()) {
    if (!queue->subject()) continue;
    entries.push_back({{"sandboxId", queue->name()}, {"busy", queue->is_busy()}});
  }
  return {{"sandboxes", std::move(entries)}};
}

// Of one whose session has ended meanwhile the connection lets go all the same.
Reply destroy(Call& call) {
  if (!call.queue->subject()) (void)call.live();  // which says why there is none
  (void)call.params.text("sandboxId");
  if (call.queue == call.connection.main_queue()) {
    throw request_error("the connection's own sandbox ends with the connection: call kill");
  }
  const std::shared_ptr<Subject> subject = call.queue->subject();
  if (subject) stop_commands(call.connection, *subject);
  call.connection.remove_queue(call.queue->name());
  if (subject) subject->destroy();
  return ok();
}

Reply kill(Call& call) {
  call.connection.finish();
  return ok();
}

Reply ping(Call&) { return {{"ok", true}, {"version", cloche::version}}; }

Reply set_environment(Call& call) {
  const std::string name = environment_name(call.params);
  const std::string value = call.params.word("value");
  std::size_t bytes = name.size() + value.size();
  for (const auto& [other, text] : call.sandbox()->environment())
    bytes += other == name ? 0 : other.size() + text.size();
  if (bytes > environment_limit_bytes) {
    throw request_error(
        fmt::format("the environment has {} bytes at most, and no program could be started with it",
                    environment_limit_bytes),
        Errno::toobig);
  }
  call.sandbox()->set_environment(name, value);
  return ok();
}

Reply get_environment(Call& call) {
  const std::string name = call.params.word("name");
  const std::shared_ptr<Sandbox> sandbox = call.sandbox();
  std::optional<std::string> value = sandbox->environment(name);
  if (is_identifier(name)) {
    const auto told = sandbox::ask_shell(*sandbox,
                                         fmt::format("if [[ -v {0} && ${{{0}@a}} == *x* ]]; then "
                                                     "builtin printf x%s \"${0}\"; fi",
                                                     name),
                                         until_cancelled(call));
    if (told) value = told->empty() ? std::nullopt : std::optional(told->substr(1));
  }
  return {{"value", value ? Reply(*value) : Reply(nullptr)}};
}

Reply list_environment(Call& call) {
  return {{"env", sandbox::shell_environment(*call.sandbox(), until_cancelled(call))}};
}

Reply install_packages(Call& call) {
  const std::vector<std::string> names = call.params.words("packages");
  if (names.empty())
    throw RpcError{code::invalid_params, "'packages' must be an array of one name at least"};
  must(call.sandbox()->install_packages(names));
  return ok();
}

Reply list_packages(Call& call) {
  const Files& files = call.sandbox()->files();
  constexpr const char* folder = "/usr/lib/python";
  std::set<std::string> installed;
  if (const auto entries = files.list(folder)) {
    for (const FileInfo& entry : *entries) {
      if (entry.kind == FileKind::directory) installed.insert(entry.name);
    }
  }
  std::set<std::string> available;
  // A line for each import name: "PIL pillow".
  const Result<std::string> names = files.read(std::string(folder) + "/.catalogue", 1 << 20);
  std::istringstream catalogue(names ? *names : std::string());
  for (std::string import_name, package; catalogue >> import_name >> package;)
    available.insert(package);
  return {{"installed", installed}, {"available", available}};
}

Reply figures(Call& call) {
  const SandboxUsage usage = call.sandbox()->usage();
  return {{"fileBytes", usage.file_bytes},
          {"fileInodes", usage.file_inodes},
          {"memoryBytes", usage.memory_bytes},
          {"processes", usage.processes}};
}

Reply create_snapshot(Call& call) {
  auto& snapshots = call.queue->snapshots();
  if (snapshots.size() >= snapshot_limit) {
    throw request_error(fmt::format("a sandbox has {} snapshots at most", snapshot_limit),
                        Errno::again);
  }
  call.connection.backend().admit_snapshot();
  const std::string id = std::to_string(call.queue->next_snapshot());
  snapshots.emplace(id, sandbox::fork_live_sandbox(call.live()));
  return {{"id", id}};
}

Reply restore_snapshot(Call& call) {
  LiveSandbox then = sandbox::fork_live_sandbox(snapshot(call));
  // Who serves commands now goes on.
  then.sandbox->set_commands(call.sandbox()->commands());
  stop_commands(call.connection, *call.subject());
  call.subject()->replace(std::move(then));
  return ok();
}

Reply list_snapshots(Call& call) {
  std::vector<std::uint64_t> numbers;
  for (const auto& [id, live] : call.queue->snapshots()) numbers.push_back(std::stoull(id));
  std::ranges::sort(numbers);
  Reply entries = Reply::array();
  for (const std::uint64_t number : numbers) entries.push_back({{"id", std::to_string(number)}});
  return {{"snapshots", std::move(entries)}};
}

Reply remove_snapshot(Call& call) {
  (void)snapshot(call);
  call.queue->snapshots().erase(call.params.text("id"));
  return ok();
}

Reply export_state(Call& call) {
  if (const std::optional<std::string> path = host_path(call, "path"))
    return {{"ok", true}, {"size", write_state_file(*path, Checkpoint(*call.sandbox()))}};
  return {{"data", to_base64(must(cloche::export_state(*call.sandbox(), payload_limit_bytes)))}};
}

Reply import_state(Call& call) {
  SandboxOptions options = call.sandbox()->options();
  options.commands = call.sandbox()->commands();
  std::unique_ptr<Sandbox> sandbox;
  if (const std::optional<std::string> path = host_path(call, "path")) {
    sandbox = read_state_file(*path, call.connection.engine(), options);
  } else {
    sandbox =
        must(cloche::import_state(call.connection.engine(), options, call.params.bytes("data")));
  }
  stop_commands(call.connection, *call.subject());
  call.subject()->replace(sandbox::make_live_sandbox(std::move(sandbox)));
  return ok();
}

}  // namespace cloche::rpc::sandboxes
