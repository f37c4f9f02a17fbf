// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/code_interpreter.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/random.h"
#include "doors/e2b/connect_wire.h"

namespace cloche::e2b {
namespace {

constexpr std::size_t contexts_max = 16;  // besides the usual ones
constexpr std::size_t variables_max = 1000;
constexpr std::chrono::seconds keepalive{5};
constexpr std::string_view home = "/home/user";

http::Response text_answer(int status, std::string text) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::move(text)};
}

http::Response wrong(const CallError& error) { return text_answer(400, error.message); }

http::Response no_context(const std::string& id) {
  return text_answer(404, fmt::format("Context {} not found", id));
}

http::Response no_language(std::string_view name) {
  return text_answer(
      400,
      fmt::format("there is no language '{}': python, javascript, typescript and bash are", name));
}

http::Response no_room() {
  return text_answer(
      429, fmt::format("{} contexts were made, which is the limit: delete one", contexts_max));
}

StreamForm line_form() { return {"application/x-ndjson", "{\"type\":\"keepalive\"}\n", {}}; }

bool is_variable(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

CallResult<std::map<std::string, std::string>> variables_at(const Json& message) {
  std::map<std::string, std::string> variables;
  const Json* given = member(message, "env_vars");
  if (!given) return variables;
  if (!given->is_object() || given->size() > variables_max)
    return CallError{"invalid_argument",
                     fmt::format("env_vars must be an object of up to {} names", variables_max)};
  for (const auto& [name, value] : given->items()) {
    if (!is_variable(name) || !value.is_string() ||
        value.get_ref<const std::string&>().find('\0') != std::string::npos)
      return CallError{"invalid_argument",
                       fmt::format("env_vars: '{}' is no variable with a text", name)};
    variables[name] = value.get<std::string>();
  }
  return variables;
}

struct CellWish {
  std::string code;
  std::string context;
  std::string language;
  std::map<std::string, std::string> environment;
};

CallResult<CellWish> read_cell(std::string_view text) {
  CLOCHE_CALL(const Json message, read_message(text));
  const Json* code = member(message, "code");
  if (!code || !code->is_string()) return CallError{"invalid_argument", "code must be a text"};
  CLOCHE_CALL(std::string context, text_at(message, "context_id"));
  CLOCHE_CALL(std::string language, text_at(message, "language"));
  CLOCHE_CALL(auto environment, variables_at(message));
  if (!context.empty() && !language.empty())
    return CallError{"invalid_argument", "Only one of context_id or language can be provided"};
  CellWish wish{code->get<std::string>(), std::move(context), std::move(language),
                std::move(environment)};
  if (wish.code.find('\0') != std::string::npos)
    return CallError{"invalid_argument", "code must not have a NUL"};
  return wish;
}

OrderedJson json_of(const CodeContext& context) {
  return {
      {"id", context.id()}, {"language", name_of(context.language())}, {"cwd", context.folder()}};
}

}  // namespace

// Clients expect two contexts from the beginning; their kernels begin with their first cells.
CodeInterpreter::CodeInterpreter(session::WorkerPool& workers, std::string owner,
                                 std::shared_ptr<ProcessCount> count)
    : workers_(workers), owner_(std::move(owner)), count_(std::move(count)) {
  (void)usual(CodeLanguage::python);
  (void)usual(CodeLanguage::javascript);
}

void CodeInterpreter::handle(session::Session::Use use, const http::Request& request,
                             const std::shared_ptr<http::Exchange>& exchange) {
  if (request.path == "/execute" && request.method == "POST")
    return execute(std::move(use), request, exchange);
  http::Response response = contexts(use, request);
  use = {};
  exchange->send(std::move(response));
}

void CodeInterpreter::execute(session::Session::Use use, const http::Request& request,
                              const std::shared_ptr<http::Exchange>& exchange) {
  auto read = read_cell(request.body);
  if (const auto* error = std::get_if<CallError>(&read)) return exchange->send(wrong(*error));
  auto& wish = std::get<CellWish>(read);
  ContextPtr context;
  if (!wish.context.empty()) {
    context = find(wish.context);
    if (!context) return exchange->send(no_context(wish.context));
  } else {
    const auto language = code_language(wish.language.empty() ? "python" : wish.language);
    if (!language) return exchange->send(no_language(wish.language));
    context = usual(*language);
  }
  if (!context->has_room())
    return exchange->send(text_answer(429, "too many cells wait for their turn in this context"));
  Cell cell{std::move(wish.code), std::move(wish.environment),
            EventStream::begin(*exchange, keepalive, line_form()), std::move(use)};
  context->run(std::move(cell));
}

http::Response CodeInterpreter::contexts(session::Session::Use& use, const http::Request& request) {
  static constexpr std::string_view folder = "/contexts";
  const std::string_view path = request.path;
  if (path == "/health" && request.method == "GET") return text_answer(200, "OK");
  if (path == folder && request.method == "GET") return list();
  if (path == folder && request.method == "POST") return create(use, request);
  if (!path.starts_with("/contexts/")) return text_answer(404, "there is nothing at this address");
  std::string id(path.substr(folder.size() + 1));
  static constexpr std::string_view again = "/restart";
  const bool is_restart = id.ends_with(again);
  if (is_restart) id.resize(id.size() - again.size());
  if (const char* const method = is_restart ? "POST" : "DELETE"; request.method != method)
    return http::with_allow(text_answer(405, "this address does not take that method"), method);
  const ContextPtr context = find(id);
  if (!context) return no_context(id);
  if (!is_restart) {
    const MutexLock lock(mutex_);
    std::erase(contexts_, context);
    std::erase_if(usual_, [&](const auto& each) { return each.second == context; });
  }
  context->restart();
  return http::json_response(200, "null");
}

http::Response CodeInterpreter::list() {
  OrderedJson listed = OrderedJson::array();
  for (const ContextPtr& context : all()) listed.push_back(json_of(*context));
  return http::json_response(200, write_json(listed));
}

http::Response CodeInterpreter::create(session::Session::Use& use, const http::Request& request) {
  const auto read = read_message(request.body.empty() ? "{}" : request.body);
  if (const auto* error = std::get_if<CallError>(&read)) return wrong(*error);
  const Json& message = std::get<Json>(read);
  const auto name = text_at(message, "language");
  const auto folder = text_at(message, "cwd");
  if (const auto* error = std::get_if<CallError>(&name)) return wrong(*error);
  if (const auto* error = std::get_if<CallError>(&folder)) return wrong(*error);
  const std::string& asked = std::get<std::string>(name);
  const auto language = code_language(asked.empty() ? "python" : asked);
  if (!language) return no_language(asked);
  std::string place = std::get<std::string>(folder);
  if (place.empty()) place = home;
  if (!place.starts_with('/')) place = std::string(home) + "/" + place;
  const auto facts = use->files().stat(place);
  if (!facts || facts->kind != FileKind::directory)
    return text_answer(400, fmt::format("cwd '{}' does not exist", place));
  const MutexLock lock(mutex_);
  if (contexts_.size() >= contexts_max + usual_.size()) return no_room();
  return http::json_response(200, write_json(json_of(*add(*language, std::move(place)))));
}

CodeInterpreter::ContextPtr CodeInterpreter::find(const std::string& id) const {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(contexts_, id, &CodeContext::id);
  return found == contexts_.end() ? nullptr : *found;
}

CodeInterpreter::ContextPtr CodeInterpreter::usual(CodeLanguage language) {
  const MutexLock lock(mutex_);
  if (const auto found = usual_.find(language); found != usual_.end()) return found->second;
  return usual_[language] = add(language, std::string(home));
}

CodeInterpreter::ContextPtr CodeInterpreter::add(CodeLanguage language, std::string folder) {
  auto made = std::make_shared<CodeContext>(random_uuid(), language, std::move(folder), workers_,
                                            owner_, count_);
  contexts_.push_back(made);
  return made;
}

std::vector<CodeInterpreter::ContextPtr> CodeInterpreter::all() const {
  const MutexLock lock(mutex_);
  return contexts_;
}

void CodeInterpreter::break_off() {
  for (const ContextPtr& context : all()) context->break_off();
}

void CodeInterpreter::restart() {
  for (const ContextPtr& context : all()) context->restart();
}

}  // namespace cloche::e2b
