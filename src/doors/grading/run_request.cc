// SPDX-License-Identifier: Apache-2.0
#include "doors/grading/run_request.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/base64.h"
#include "base/json.h"

namespace cloche::grading {
namespace {

constexpr double timeout_usual_s = 10;
constexpr double timeout_limit_s = 3600;
constexpr std::size_t file_count_limit = 1000;

struct Language {
  std::string_view name;
  std::string_view program;  // looked up in $PATH: images have it where they like
  std::string_view file_name;
};

constexpr std::array languages{
    Language{"python", "python3", "main.py"},
    Language{"bash", "bash", "main.sh"},
    Language{"nodejs", "node", "main.js"},
    Language{"javascript", "node", "main.js"},
};

[[noreturn]] void refuse(std::string sentence) { throw BadRequest{std::move(sentence)}; }

// Null counts as absent.
const Json* find(const Json& from, const char* name) {
  const auto found = from.find(name);
  return found == from.end() || found->is_null() ? nullptr : &*found;
}

const std::string& text_of(const Json& value, std::string_view name) {
  if (!value.is_string()) refuse(fmt::format("'{}' must be a string", name));
  return value.get_ref<const std::string&>();
}

std::string text(const Json& from, const char* name) {
  const Json* value = find(from, name);
  if (value == nullptr) refuse(fmt::format("'{}' is missing", name));
  return text_of(*value, name);
}

// What ends a path for a system call would cut it short.
std::string path_of(const std::string& text, std::string_view name) {
  if (text.empty() || text.find('\0') != std::string::npos)
    refuse(fmt::format("'{}' holds a path that is none", name));
  return text;
}

std::chrono::milliseconds timeout_of(const Json& from) {
  const Json* value = find(from, "run_timeout");
  if (value != nullptr && !value->is_number()) refuse("'run_timeout' must be a number of seconds");
  const double seconds = value == nullptr ? timeout_usual_s : value->get<double>();
  if (!(seconds > 0) || seconds > timeout_limit_s)
    refuse(
        fmt::format("'run_timeout' must be more than 0 and at most {} seconds", timeout_limit_s));
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

std::uint64_t memory_limit_of(const Json& from) {
  constexpr std::uint64_t mebibyte = 1 << 20;
  const Json* value = find(from, "memory_limit_MB");
  if (value == nullptr) return 0;
  if (!value->is_number_integer()) refuse("'memory_limit_MB' must be a whole number");
  if (value->is_number_unsigned())
    return std::min<std::uint64_t>(value->get<std::uint64_t>(), UINT32_MAX) * mebibyte;
  return 0;  // negative: no limit of its own
}

const Language& language_of(const Json& from) {
  const std::string name = text(from, "language");
  for (const Language& one : languages) {
    if (one.name == name) return one;
  }
  refuse(fmt::format("the language '{}' is not here: there are python, bash and nodejs",
                     name.substr(0, 100)));
}

RunRequest request_of(const Json& from) {
  if (!from.is_object()) refuse("a request is an object");
  const Language& language = language_of(from);
  RunRequest request;
  request.program = language.program;
  request.file_name = language.file_name;
  request.code = text(from, "code");
  if (const Json* input = find(from, "stdin")) request.input = text_of(*input, "stdin");
  request.timeout = timeout_of(from);
  request.memory_limit_bytes = memory_limit_of(from);
  if (const Json* files = find(from, "files")) {
    if (!files->is_object() || files->size() > file_count_limit)
      refuse(fmt::format("'files' must be an object of {} files at most", file_count_limit));
    for (const auto& [path, content] : files->items()) {
      if (content.is_null()) continue;
      auto bytes = from_base64(text_of(content, "files"));
      if (!bytes) refuse("'files' must hold base64");
      request.files.emplace(path_of(path, "files"), *std::move(bytes));
    }
  }
  if (const Json* wanted = find(from, "fetch_files")) {
    if (!wanted->is_array() || wanted->size() > file_count_limit)
      refuse(fmt::format("'fetch_files' must be a list of {} paths at most", file_count_limit));
    for (const Json& path : *wanted)
      request.fetch_files.push_back(path_of(text_of(path, "fetch_files"), "fetch_files"));
  }
  return request;
}

Json read(std::string_view body) {
  auto value = read_json<Json>(body, {.repeated = RepeatedNames::last_wins});
  if (auto* problem = std::get_if<JsonProblem>(&value)) refuse(std::move(problem->sentence));
  return std::get<Json>(std::move(value));
}

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::finished: return "Finished";
    case Outcome::time_limit_exceeded: return "TimeLimitExceeded";
    case Outcome::error: break;
  }
  return "Error";
}

const char* overall(const RunVerdict& verdict) {
  if (verdict.outcome == Outcome::error) return "SandboxError";
  return verdict.outcome == Outcome::finished && verdict.return_code == 0 ? "Success" : "Failed";
}

}  // namespace

std::uint64_t RunRequest::bytes() const {
  std::uint64_t all = sizeof *this + code.size() + input.size();
  for (const auto& [path, content] : files) all += path.size() + content.size();
  for (const std::string& path : fetch_files) all += path.size();
  return all;
}

std::variant<RunRequest, BadRequest> read_run_request(std::string_view body) {
  try {
    return request_of(read(body));
  } catch (BadRequest& bad) {
    return std::move(bad);
  }
}

std::variant<std::vector<RunRequest>, BadRequest> read_batch(std::string_view body) {
  try {
    const Json value = read(body);
    const Json* listed = value.is_object() ? find(value, "requests") : nullptr;
    if (listed == nullptr || !listed->is_array() || listed->size() > batch_limit)
      refuse(fmt::format("'requests' must be a list of {} requests at most", batch_limit));
    std::vector<RunRequest> requests;
    for (const Json& one : *listed) requests.push_back(request_of(one));
    return requests;
  } catch (BadRequest& bad) {
    return std::move(bad);
  }
}

std::string to_json(const RunVerdict& verdict) {
  OrderedJson run;
  run["status"] = name_of(verdict.outcome);
  run["execution_time"] = std::chrono::duration<double>(verdict.duration).count();
  run["return_code"] =
      verdict.return_code ? OrderedJson(*verdict.return_code) : OrderedJson(nullptr);
  run["stdout"] = verdict.out;
  run["stderr"] = verdict.err;
  OrderedJson files = OrderedJson::object();
  for (const auto& [path, content] : verdict.files) files.emplace(path, to_base64(content));
  OrderedJson answer;
  answer["status"] = overall(verdict);
  answer["message"] = verdict.message;
  answer["compile_result"] = nullptr;
  answer["run_result"] = std::move(run);
  answer["executor_pod_name"] = nullptr;
  answer["files"] = std::move(files);
  return write_json(answer);
}

}  // namespace cloche::grading
