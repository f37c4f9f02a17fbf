// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/template_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace cloche::e2b {
namespace {

using Kind = TemplateStep::Kind;

constexpr std::size_t steps_max = 500;
constexpr std::size_t variables_max = 256;
constexpr std::size_t files_hash_digits = 64;

struct KindRule {
  std::string_view name;
  Kind kind;
  std::size_t least;  // arguments
  std::size_t most;
};
constexpr std::array<KindRule, 5> kinds{{{"RUN", Kind::run, 1, 2},
                                         {"COPY", Kind::copy, 2, 4},
                                         {"ENV", Kind::set_variables, 2, 2 * variables_max},
                                         {"WORKDIR", Kind::set_workdir, 1, 1},
                                         {"USER", Kind::set_user, 1, 1}}};

http::Response bad(std::string_view message) { return rest_error(400, message); }

bool is_user(std::string_view name) { return name.empty() || name == "user" || name == "root"; }

std::optional<std::string> fault_of(const TemplateStep& step) {
  const std::vector<std::string>& words = step.arguments;
  switch (step.kind) {
    case Kind::run:
      if (words[0].empty()) return "RUN needs a command";
      break;
    case Kind::copy:
      if (words[0].empty() || words[1].empty()) return "COPY needs a source and a target";
      if (!is_files_hash(step.files_hash)) return "COPY needs filesHash, a SHA-256 in lower case";
      if (words.size() > 3 && words[3].find_first_not_of("01234567") != std::string::npos)
        return "the mode of COPY must be octal";
      break;
    case Kind::set_variables:
      if (words.size() % 2 != 0) return "ENV needs a value for each name";
      for (std::size_t i = 0; i < words.size(); i += 2) {
        if (words[i].empty() || words[i].find('=') != std::string::npos)
          return "the name of a variable must not be empty, nor have '='";
      }
      break;
    case Kind::set_workdir:
      if (words[0].empty()) return "WORKDIR needs a folder";
      break;
    case Kind::set_user: break;
  }
  const std::size_t user = step.kind == Kind::set_user ? 0 : step.kind == Kind::run ? 1 : 2;
  const bool has_user = step.kind != Kind::set_variables && step.kind != Kind::set_workdir;
  if (has_user && words.size() > user) {
    const std::string name = words[user].substr(0, words[user].find(':'));
    if (!is_user(name) || (step.kind == Kind::set_user && name.empty()))
      return step.kind == Kind::run
                 ? fmt::format(
                       "failed to run command '{}': command failed: unauthenticated: "
                       "invalid username: '{}' (a sandbox has the users user and root)",
                       words.front(), name)
                 : fmt::format("a sandbox has the users user and root, and no '{}'", words[user]);
  }
  return std::nullopt;
}

std::variant<TemplateStep, std::string> read_step(const Json& given) {
  if (!given.is_object()) return "it must be an object";
  const auto type = given.find("type");
  if (type == given.end() || !type->is_string()) return "type is required";
  const auto rule = std::ranges::find(kinds, type->get_ref<const std::string&>(), &KindRule::name);
  if (rule == kinds.end()) return "type must be RUN, COPY, ENV, WORKDIR or USER";
  TemplateStep step{.kind = rule->kind, .arguments = {}, .files_hash = {}};
  const auto words = given.find("args");
  if (words == given.end() || !words->is_array() || words->size() < rule->least ||
      words->size() > rule->most)
    return fmt::format("args of {} must be a list of {} to {} strings", rule->name, rule->least,
                       rule->most);
  for (const Json& word : *words) {
    if (!word.is_string() || word.get_ref<const std::string&>().find('\0') != std::string::npos)
      return "args must be strings without NUL";
    step.arguments.push_back(word.get<std::string>());
  }
  if (const auto hash = given.find("filesHash"); hash != given.end() && hash->is_string())
    step.files_hash = hash->get<std::string>();
  if (auto fault = fault_of(step)) return *std::move(fault);
  return step;
}

std::optional<http::Response> read_command(const Json& body, const char* name, std::string& to) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null()) return std::nullopt;
  if (!found->is_string() || found->get_ref<const std::string&>().find('\0') != std::string::npos)
    return bad(fmt::format("{} must be a string without NUL", name));
  to = found->get<std::string>();
  return std::nullopt;
}

}  // namespace

bool is_files_hash(std::string_view text) {
  return text.size() == files_hash_digits &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Checked<TemplatePlan> read_plan(std::string_view body) {
  auto read = read_body(body);
  if (auto* wrong = std::get_if<http::Response>(&read)) return std::move(*wrong);
  const Json& given = std::get<Json>(read);
  TemplatePlan plan;
  for (const auto& [name, to] :
       {std::pair("fromTemplate", &plan.from_template), std::pair("fromImage", &plan.from_image)}) {
    auto text = read_text(given, name);
    if (auto* wrong = std::get_if<http::Response>(&text)) return std::move(*wrong);
    *to = std::get<std::string>(std::move(text));
  }
  if (plan.from_template.empty() == plan.from_image.empty())
    return bad("a build begins with fromTemplate or with fromImage: say one of them");
  for (const auto& [name, to] :
       {std::pair("startCmd", &plan.start_command), std::pair("readyCmd", &plan.ready_command)}) {
    if (auto wrong = read_command(given, name, *to)) return *std::move(wrong);
  }
  const auto steps = given.find("steps");
  if (steps == given.end() || steps->is_null()) return plan;
  if (!steps->is_array() || steps->size() > steps_max)
    return bad(fmt::format("steps must be a list of {} at most", steps_max));
  for (const Json& each : *steps) {
    auto step = read_step(each);
    if (const auto* fault = std::get_if<std::string>(&step))
      return bad(fmt::format("steps[{}]: {}", plan.steps.size(), *fault));
    plan.steps.push_back(std::get<TemplateStep>(std::move(step)));
  }
  return plan;
}

}  // namespace cloche::e2b
