// SPDX-License-Identifier: Apache-2.0
// process.Process of the agent.
#include <fmt/format.h>

#include <csignal>
#include <functional>
#include <map>

#include "doors/e2b/stream_call.h"

namespace cloche::e2b {
namespace {

constexpr std::size_t arguments_max = 4096;
constexpr std::uint16_t size_max = 4096;

CallResult<TerminalSize> read_size(const Json& pty) {
  TerminalSize size;
  const Json* given = member(pty, "size");
  if (!given || !given->is_object()) return size;
  CLOCHE_CALL(const std::int64_t columns, number_at(*given, "cols"));
  CLOCHE_CALL(const std::int64_t rows, number_at(*given, "rows"));
  if (columns < 0 || rows < 0 || columns > size_max || rows > size_max)
    return CallError{"invalid_argument", fmt::format("cols and rows must be up to {}", size_max)};
  if (columns > 0) size.columns = static_cast<std::uint16_t>(columns);
  if (rows > 0) size.rows = static_cast<std::uint16_t>(rows);
  return size;
}

bool is_variable(const std::string& name, const std::string& value) {
  return !name.empty() && name.find('=') == std::string::npos &&
         name.find('\0') == std::string::npos && value.find('\0') == std::string::npos;
}

CallResult<StartWish> read_start(const Json& message, const Call& call) {
  const Actor& actor = call.actor;
  const Json* process = member(message, "process");
  if (!process || !process->is_object())
    return CallError{"invalid_argument", "process is required"};
  StartWish wish;
  RunOptions& run = wish.run.command;
  CLOCHE_CALL(std::string program, text_at(*process, "cmd"));
  if (program.empty()) return CallError{"invalid_argument", "process.cmd is required"};
  run.argv.push_back(std::move(program));
  if (const Json* arguments = member(*process, "args")) {
    if (!arguments->is_array() || arguments->size() > arguments_max)
      return CallError{"invalid_argument", "process.args must be a list of strings"};
    for (const Json& argument : *arguments) {
      if (!argument.is_string() ||
          argument.get_ref<const std::string&>().find('\0') != std::string::npos)
        return CallError{"invalid_argument", "process.args must be a list of strings"};
      run.argv.push_back(argument.get<std::string>());
    }
  }
  if (const Json* variables = member(*process, "envs")) {
    if (!variables->is_object())
      return CallError{"invalid_argument", "process.envs must be an object of strings"};
    for (const auto& [name, value] : variables->items()) {
      if (!value.is_string() || !is_variable(name, value.get_ref<const std::string&>()))
        return CallError{"invalid_argument", "process.envs must be an object of strings"};
      run.environment[name] = value.get<std::string>();
    }
  }
  CLOCHE_CALL(std::string directory, text_at(*process, "cwd"));
  if (directory.empty()) directory = call.box->start.workdir;
  CLOCHE_CALL(run.cwd, path_of(actor, directory));
  const Result<FileInfo> there = call.use->files(actor.account).stat(run.cwd);
  if (!there || there->kind != FileKind::directory) {
    return CallError{
        "invalid_argument",
        fmt::format("cwd '{}' {}", run.cwd, there ? "is not a directory" : "does not exist")};
  }
  run.account = actor.account;
  if (const Json* pty = member(message, "pty"); pty && pty->is_object()) {
    CLOCHE_CALL(wish.run.terminal, read_size(*pty));
  }
  CLOCHE_CALL(wish.tag, text_at(message, "tag"));
  CLOCHE_CALL(wish.has_input, truth_at(message, "stdin", true));
  wish.config = OrderedJson::parse(write_json(*process));
  return wish;
}

CallResult<bool> start(Call& call) {
  CLOCHE_CALL(const Json message, only_message(call.request));
  CLOCHE_CALL(StartWish wish, read_start(message, call));
  if (const auto limit = time_limit_of(call.request)) wish.run.command.timeout = limit;
  CLOCHE_CALL(const auto process,
              call.box->processes->start(std::move(call.use), std::move(wish), *call.exchange,
                                         silence_of(call.request)));
  return process != nullptr;
}

CallResult<bool> connect(Call& call) {
  CLOCHE_CALL(const Json message, only_message(call.request));
  const Json* selector = member(message, "process");
  auto found = call.box->processes->find(selector);
  if (auto* missing = std::get_if<CallError>(&found)) {
    const auto ended = call.box->processes->find_ended(selector);
    if (!ended) return std::move(*missing);
    const auto event = [](const OrderedJson& what) {
      return frame_of(write_json(OrderedJson{{"event", what}}));
    };
    call.exchange->send(
        {200,
         {{"Content-Type", std::string(stream_type)}},
         event({{"start", {{"pid", ended->first}}}}) + event(ended->second) + end_frame()});
    return true;
  }
  std::get<0>(found)->add(
      EventStream::begin(*call.exchange, silence_of(call.request), process_form()));
  return true;
}

CallResult<OrderedJson> list(const Call& call, const Json& message) {
  (void)message;
  OrderedJson processes = OrderedJson::array();
  for (const auto& process : call.box->processes->list()) {
    OrderedJson json{{"config", process->config()}, {"pid", process->pid()}};
    if (!process->tag().empty()) json["tag"] = process->tag();
    processes.push_back(std::move(json));
  }
  OrderedJson answer = OrderedJson::object();
  if (!processes.empty()) answer["processes"] = std::move(processes);
  return answer;
}

CallResult<bool> give_input(const Call& call, Process& process, const Json& input) {
  const auto limit = time_limit_of(call.request);
  if (member(input, "pty")) {
    CLOCHE_CALL(const std::string typed, bytes_at(input, "pty"));
    return process.type(typed, limit);
  }
  CLOCHE_CALL(const std::string bytes, bytes_at(input, "stdin"));
  return process.write_input(bytes, limit);
}

CallResult<OrderedJson> send_input(const Call& call, const Json& message) {
  CLOCHE_CALL(const auto process, call.box->processes->find(member(message, "process")));
  const Json* input = member(message, "input");
  if (!input || !input->is_object()) return CallError{"invalid_argument", "input is required"};
  CLOCHE_CALL(const bool done, give_input(call, *process, *input));
  (void)done;
  return OrderedJson(OrderedJson::object());
}

CallResult<OrderedJson> close_stdin(const Call& call, const Json& message) {
  CLOCHE_CALL(const auto process, call.box->processes->find(member(message, "process")));
  CLOCHE_CALL(const bool done, process->close_input());
  (void)done;
  return OrderedJson(OrderedJson::object());
}

CallResult<OrderedJson> update(const Call& call, const Json& message) {
  CLOCHE_CALL(const auto process, call.box->processes->find(member(message, "process")));
  const Json* pty = member(message, "pty");
  if (!pty || !pty->is_object()) return OrderedJson(OrderedJson::object());
  CLOCHE_CALL(const TerminalSize size, read_size(*pty));
  CLOCHE_CALL(const bool done, process->resize(size));
  (void)done;
  return OrderedJson(OrderedJson::object());
}

CallResult<OrderedJson> send_signal(const Call& call, const Json& message) {
  CLOCHE_CALL(const auto process, call.box->processes->find(member(message, "process")));
  const Json* signal = member(message, "signal");
  int number = 0;
  if (signal && (*signal == "SIGNAL_SIGTERM" || *signal == SIGTERM)) number = SIGTERM;
  if (signal && (*signal == "SIGNAL_SIGKILL" || *signal == SIGKILL)) number = SIGKILL;
  if (number == 0)
    return CallError{"invalid_argument", "signal must be SIGNAL_SIGTERM or SIGNAL_SIGKILL"};
  CLOCHE_CALL(const bool done, process->signal(number));
  (void)done;
  return OrderedJson(OrderedJson::object());
}

CallResult<bool> stream_input(const Call& call) {
  CLOCHE_CALL(const auto messages, read_frames(call.request.body));
  std::shared_ptr<Process> process;
  for (const std::string_view text : messages) {
    CLOCHE_CALL(const Json message, read_message(text));
    if (const Json* begin = member(message, "start")) {
      CLOCHE_CALL(process, call.box->processes->find(member(*begin, "process")));
    } else if (const Json* data = member(message, "data")) {
      const Json* input = data->is_object() ? member(*data, "input") : nullptr;
      if (!process || !input || !input->is_object())
        return CallError{"invalid_argument", "a stream of input is start, then data"};
      CLOCHE_CALL(const bool done, give_input(call, *process, *input));
      (void)done;
    }
  }
  call.exchange->send(
      {200, {{"Content-Type", std::string(stream_type)}}, frame_of("{}") + end_frame()});
  return true;
}

const std::map<std::string_view, Unary>& unary_methods() {
  static const std::map<std::string_view, Unary> methods{
      {"List", list},     {"SendInput", send_input},   {"CloseStdin", close_stdin},
      {"Update", update}, {"SendSignal", send_signal},
  };
  return methods;
}

}  // namespace

void call_process_service(std::string_view method, Call call) {
  if (const auto found = unary_methods().find(method); found != unary_methods().end())
    return answer_unary(found->second, call);
  const auto result = method == "Start"     ? start(call)
                      : method == "Connect" ? connect(call)
                      : method == "StreamInput"
                          ? stream_input(call)
                          : CallError{"unimplemented", "there is no such method"};
  if (const auto* error = std::get_if<CallError>(&result)) refuse_stream(call, *error);
}

}  // namespace cloche::e2b
