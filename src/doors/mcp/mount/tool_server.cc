// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/mount/tool_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <optional>
#include <utility>

#include "base/json_lookup.h"
#include "base/mutex.h"
#include "doors/mcp/mount/tool_result.h"
#include "doors/mcp/protocol.h"

namespace cloche::mcp::mount {
namespace {

constexpr int status_failed = 1;
constexpr int status_usage = 2;
constexpr int status_timed_out = 124;
constexpr std::size_t help_limit_bytes = std::size_t{60} << 10;
constexpr std::size_t about_limit_bytes = std::size_t{16} << 10;
constexpr std::chrono::seconds start_spacing{1};

std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) --most;
  return text.substr(0, most) + " ...";
}

int complain(CommandCall& process, std::string_view what, int status) {
  (void)process.write(Stream::err, fmt::format("{}: {}\n", process.name(), what));
  return status;
}

// What a call waits for, between the connection's thread and the process's.
class Answer {
 public:
  explicit Answer(CommandCall& process) : process_(&process) {}

  void give(ToolConnection::Outcome outcome) {
    const MutexLock lock(mutex_);
    if (process_ == nullptr) return;
    outcome_.emplace(std::move(outcome));
    process_->wake();
  }
  // Nothing: the process must end before.
  std::optional<ToolConnection::Outcome> wait() {
    CommandCall* process = nullptr;
    {
      const MutexLock lock(mutex_);
      process = process_;
    }
    for (;;) {
      if (auto outcome = take()) return outcome;
      if (!process->wait({})) return std::nullopt;
    }
  }
  // The process ends: it must not be woken any more.
  void leave() {
    const MutexLock lock(mutex_);
    process_ = nullptr;
  }

 private:
  std::optional<ToolConnection::Outcome> take() {
    const MutexLock lock(mutex_);
    return std::exchange(outcome_, std::nullopt);
  }

  Mutex mutex_;
  CommandCall* process_ GUARDED_BY(mutex_);
  std::optional<ToolConnection::Outcome> outcome_ GUARDED_BY(mutex_);
};

// All of standard input; nothing where it is too long or the read fails.
std::optional<std::string> read_input(CommandCall& process) {
  constexpr std::size_t piece = std::size_t{16} << 10;
  std::string text;
  for (;;) {
    const std::size_t had = text.size();
    if (had > ToolServer::input_limit_bytes) return std::nullopt;
    text.resize(had + piece);
    const Result<std::size_t> got = process.read(std::span(text.data() + had, piece));
    if (!got) return std::nullopt;
    text.resize(had + *got);
    if (*got == 0) return text;
  }
}

}  // namespace

ToolServer::ToolServer(ToolSpawner& spawner, std::size_t index)
    : spawner_(spawner),
      index_(index),
      config_(spawner.servers().at(index)),
      started_(ToolConnection::Clock::now()),
      connection_(connected()) {}

std::shared_ptr<ToolConnection> ToolServer::connected() const {
  return std::make_shared<ToolConnection>(config_.name, spawner_.start(index_));
}

void ToolServer::end() {
  std::shared_ptr<ToolConnection> last;
  const MutexLock lock(mutex_);
  ended_ = true;
  last.swap(connection_);
}

std::shared_ptr<ToolConnection> ToolServer::connection() {
  const MutexLock lock(mutex_);
  if (connection_ && !connection_->is_over()) return connection_;
  const auto now = ToolConnection::Clock::now();
  if (ended_ || now < started_ + start_spacing) {
    throw Error(ErrorKind::host, Errno::again,
                fmt::format("the tool server '{}' has ended: try again in a second", config_.name));
  }
  started_ = now;
  connection_ = connected();
  return connection_;
}

OrderedJson ToolServer::ask_and_wait(std::string_view method, OrderedJson params) {
  std::promise<ToolConnection::Outcome> promise;
  const std::shared_ptr<ToolConnection> connection = this->connection();
  connection->ask(method, std::move(params), ToolConnection::handshake_limit,
                  [&](ToolConnection::Outcome outcome) { promise.set_value(std::move(outcome)); });
  ToolConnection::Outcome outcome = promise.get_future().get();
  if (!outcome) throw request_error(outcome.error().what(), outcome.error().code());
  return *std::move(outcome);
}

std::vector<OrderedJson> ToolServer::listed() {
  std::vector<OrderedJson> tools;
  OrderedJson params = OrderedJson::object();
  constexpr int most_pages = 50;
  for (int page = 0; page < most_pages; ++page) {
    const OrderedJson answer = ask_and_wait("tools/list", params);
    const auto list = answer.is_object() ? answer.find("tools") : answer.end();
    if (list == answer.end() || !list->is_array())
      throw request_error(
          fmt::format("the tool server '{}' does not list its tools", config_.name));
    for (const OrderedJson& tool : *list) {
      if (tool.is_object() && find_text(tool, "name") != nullptr) tools.push_back(tool);
      if (tools.size() > tool_limit)
        throw request_error(
            fmt::format("the tool server '{}' has more than {} tools", config_.name, tool_limit));
    }
    const std::string* cursor = find_text(answer, "nextCursor");
    if (cursor == nullptr) return tools;
    params = {{"cursor", *cursor}};
  }
  throw request_error(fmt::format("the tool server '{}' has more than {} pages of tools",
                                  config_.name, most_pages));
}

std::vector<HostCommand> ToolServer::commands() {
  std::vector<HostCommand> commands;
  std::vector<std::string> names;
  for (const OrderedJson& tool : listed()) {
    names.push_back(*find_text(tool, "name"));
    if (!config_.tools || std::ranges::find(*config_.tools, names.back()) != config_.tools->end())
      commands.push_back(command_of(tool));
  }
  for (const std::string& wanted : config_.tools.value_or(std::vector<std::string>())) {
    if (std::ranges::find(names, wanted) == names.end()) {
      throw request_error(
          fmt::format("the tool server '{}' has no tool '{}'", config_.name, shown(wanted)),
          Errno::noent);
    }
  }
  return commands;
}

HostCommand ToolServer::command_of(const OrderedJson& about) {
  const auto schema = about.find("inputSchema");
  const auto tool = std::make_shared<const Tool>(
      Tool{.name = *find_text(about, "name"),
           .command = config_.prefix + *find_text(about, "name"),
           .parameters = ToolParameters(schema == about.end() ? OrderedJson() : *schema)});
  const std::string* description = find_text(about, "description");
  if (description == nullptr) description = find_text(about, "title");
  std::string help = description == nullptr
                         ? fmt::format("The tool {} of '{}'", shown(tool->name), config_.name)
                         : cut(*description, about_limit_bytes);
  help = cut(fmt::format("{}\n\n{}", help, tool->parameters.help(shown(tool->command))),
             help_limit_bytes);
  return {.name = tool->command,
          .description = std::move(help),
          .handler = [self = shared_from_this(), tool](CommandCall& process) {
            return self->call(*tool, process);
          }};
}

int ToolServer::call(const Tool& tool, CommandCall& process) {
  Result<ToolCommandLine, Error> line = tool.parameters.read(process.arguments());
  if (!line) return complain(process, line.error().what(), status_usage);
  if (line->reads_input) {
    const std::optional<std::string> input = read_input(process);
    if (!input) {
      return complain(process,
                      fmt::format("standard input cannot be read, or has more than {} bytes",
                                  input_limit_bytes),
                      status_usage);
    }
    Result<OrderedJson, Error> whole = tool.parameters.merge(*input, std::move(line->arguments));
    if (!whole) return complain(process, whole.error().what(), status_usage);
    line->arguments = *std::move(whole);
  }
  return pass(tool, *std::move(line), process);
}

int ToolServer::pass(const Tool& tool, ToolCommandLine line, CommandCall& process) {
  const std::shared_ptr<ToolConnection> connection = this->connection();
  const auto answer = std::make_shared<Answer>(process);
  const std::uint64_t number = connection->ask(
      "tools/call", {{"name", tool.name}, {"arguments", std::move(line.arguments)}},
      config_.call_timeout,
      [answer](ToolConnection::Outcome outcome) { answer->give(std::move(outcome)); });
  const std::optional<ToolConnection::Outcome> outcome = answer->wait();
  answer->leave();
  if (!outcome) {
    connection->forget(number);
    return status_failed;
  }
  if (!*outcome) {
    const Error& error = outcome->error();
    return complain(process, error.what(),
                    error.code() == Errno::timedout ? status_timed_out : status_failed);
  }
  const ToolOutput output = output_of(**outcome, process.name(), line.part);
  if (!output.err.empty() && !process.write(Stream::err, output.err)) return status_failed;
  if (!output.out.empty() && !process.write(Stream::out, output.out)) return status_failed;
  return output.status;
}

}  // namespace cloche::mcp::mount
