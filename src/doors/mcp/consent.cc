// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/consent.h"

#include <fmt/format.h>

namespace cloche::mcp {
namespace {

constexpr const char* question_key = "consent";
constexpr std::size_t reason_limit = 500;

bool can_ask(const Json& capabilities) {
  const Json* elicitation = member(capabilities, "elicitation");
  if (elicitation == nullptr || !elicitation->is_object()) return false;
  // With nothing in it, it means forms.
  return elicitation->empty() || elicitation->contains("form");
}

Reply question(const std::vector<std::string>& rules, const std::string& sandbox,
               const std::string& reason, bool with_mode) {
  std::string text =
      fmt::format("Allow the sandbox '{}' to reach {}?", sandbox, fmt::join(rules, ", "));
  if (!reason.empty())
    text += fmt::format(" The model's reason: {}", reason.substr(0, reason_limit));
  Reply params;
  if (with_mode) params["mode"] = "form";
  params["message"] = text;
  params["requestedSchema"] = {
      {"type", "object"},
      {"properties",
       {{"allow",
         {{"type", "boolean"},
          {"title", "Allow"},
          {"description", fmt::format("Open {} for this sandbox", fmt::join(rules, ", "))}}}}},
      {"required", Reply::array({"allow"})}};
  return params;
}

bool says_yes(const Json& answer) {
  const Json* content = member(answer, "content");
  const Json* allow = content == nullptr ? nullptr : member(*content, "allow");
  return text_member(answer, "action") == "accept" && allow != nullptr && allow->is_boolean() &&
         allow->get<bool>();
}

[[noreturn]] void refuse(const std::vector<std::string>& rules, std::string_view why) {
  std::string options;
  for (const std::string& rule : rules) options += fmt::format(" --allow '{}'", rule);
  throw ToolError{
      fmt::format("EACCES: {}; nothing was opened. The operator can open it for good: cloche mcp{}",
                  why, options)};
}

// What the user was asked, so that the answer to another question opens nothing.
std::string about(const Call& call, const Request& request) {
  return fmt::format("{}\n{}\n{}", call.scope().owner, text_member(request.params(), "name"),
                     call.arguments().given().dump());
}

}  // namespace

void ask_consent(Call& call, const std::vector<std::string>& rules, const std::string& sandbox,
                 const std::string& reason) {
  Request& request = call.request();
  const auto check = [&](const Json& answer) {
    if (!says_yes(answer)) refuse(rules, "the user does not want that");
  };
  if (!can_ask(request.capabilities()))
    refuse(rules, "the user would have to be asked, which this client cannot (elicitation)");
  if (request.era() == Era::legacy) {
    const auto answer =
        call.peer().ask(request, "elicitation/create",
                        question(rules, sandbox, reason, call.peer().speaks_newest_legacy()),
                        RequestStates::lifetime);
    if (!answer) refuse(rules, "the user has not answered");
    return check(*answer);
  }
  const std::string holds_for = about(call, request);
  const Json* answers = member(request.params(), "inputResponses");
  const Json* answer = answers == nullptr ? nullptr : member(*answers, question_key);
  const std::string_view state = text_member(request.params(), "requestState");
  if (answer == nullptr && state.empty()) {
    throw InputRequired{{{"resultType", "input_required"},
                         {"inputRequests",
                          {{question_key,
                            {{"method", "elicitation/create"},
                             {"params", question(rules, sandbox, reason, true)}}}}},
                         {"requestState", call.hub().states().make(holds_for)}}};
  }
  if (!call.hub().states().take(call.scope().owner, state, holds_for)) {
    throw ProtocolError{code::invalid_params,
                        "'requestState' is not of this call, too old, or was used: call again "
                        "without it"};
  }
  if (answer == nullptr) refuse(rules, "the user has not answered");
  check(*answer);
}

}  // namespace cloche::mcp
