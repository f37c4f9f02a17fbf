// SPDX-License-Identifier: Apache-2.0
#include "doors/grading/grading_door.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "base/base64.h"
#include "base/json_string.h"
#include "doors/grading/batch.h"

namespace cloche::grading {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view one_path = "/run_code";
constexpr std::string_view batch_path = "/run_code/batch";
constexpr std::uint64_t body_limit_bytes = 64ULL << 20;
constexpr std::size_t batches_at_once = 32;
constexpr std::chrono::milliseconds sign_of_life = 10s;

std::size_t processors() { return std::max(1U, std::thread::hardware_concurrency()); }

http::Response refusal(int status, std::string_view sentence) {
  return http::json_response(status, fmt::format(R"({{"detail":{}}})", json_string(sentence)));
}

// 504 is what trainers send again: nothing was run.
http::Response busy(std::string_view sentence) {
  http::Response response = refusal(504, sentence);
  response.fields.emplace_back("Retry-After", "1");
  return response;
}

// The password of "Basic base64(NAME:PASSWORD)": clients that know an address alone send one that
// stands in it.
std::optional<std::string> password_of(std::string_view value) {
  constexpr std::string_view scheme = "basic ";
  if (value.size() < scheme.size() || !http::same_text(value.substr(0, scheme.size()), scheme))
    return std::nullopt;
  const auto pair = from_base64(value.substr(scheme.size()));
  const std::size_t colon = pair ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) return std::nullopt;
  return pair->substr(colon + 1);
}

}  // namespace

GradingDoor::GradingDoor(const Parts& parts, const SandboxOptions& sandbox)
    : parts_(parts),
      grader_(parts.engine, sandbox),
      gate_(parts.workers, {.running = processors()}) {
  parts_.metrics.describe("cloche_gradings_total", "Requests of /run_code, by how they ended.");
}

bool GradingDoor::is_mine(std::string_view path) { return path == one_path || path == batch_path; }

std::optional<std::string> GradingDoor::owner_of(const http::Request& head) const {
  const std::string_view value = head.field("Authorization");
  // First: in a worker that is whoever the server has let in, by a token that may be newer.
  if (auto owner = parts_.tokens.owner_of_header(value)) return owner;
  const auto password = password_of(value);
  return password ? parts_.tokens.owner_of(*password) : std::nullopt;
}

http::Admission GradingDoor::admit(const http::Request& head) const {
  if (head.method != "POST")
    return {0, http::with_allow(refusal(405, "Method Not Allowed"), "POST")};
  if (parts_.tokens.empty()) return {body_limit_bytes};
  std::optional<std::string> owner = owner_of(head);
  if (owner) return {.body_limit_bytes = body_limit_bytes, .owner = *std::move(owner)};
  http::Response response =
      refusal(401, "a known token is required: Authorization: Bearer TOKEN, or http://_:TOKEN@...");
  response.fields.emplace_back("WWW-Authenticate", "Bearer");
  return {0, std::move(response)};
}

RunVerdict GradingDoor::grade(const RunRequest& request) {
  RunVerdict verdict = grader_.grade(request, stop_.get_token());
  static constexpr std::array names{"finished", "time_limit_exceeded", "sandbox_error"};
  parts_.metrics.count(
      "cloche_gradings_total",
      fmt::format(R"(outcome="{}")", names.at(static_cast<std::size_t>(verdict.outcome))));
  return verdict;
}

void GradingDoor::handle(const http::Request& request,
                         const std::shared_ptr<http::Exchange>& exchange) {
  const std::string owner = owner_of(request).value_or(std::string());
  if (request.path == one_path) {
    auto read = read_run_request(request.body);
    if (const auto* bad = std::get_if<BadRequest>(&read))
      return exchange->send(refusal(422, bad->sentence));
    return grade_one(owner, std::get<RunRequest>(std::move(read)), exchange);
  }
  auto read = read_batch(request.body);
  if (const auto* bad = std::get_if<BadRequest>(&read))
    return exchange->send(refusal(422, bad->sentence));
  if (++batches_ > batches_at_once) {
    --batches_;
    return exchange->send(busy("too many batches are in progress: try again"));
  }
  exchange->send_blanks_until_answer(sign_of_life);
  std::make_shared<Batch>(
      owner, std::get<std::vector<RunRequest>>(std::move(read)),
      [this](const RunRequest& one) { return grade(one); },
      [this, exchange](std::string answer) {
        --batches_;
        exchange->send(http::json_response(200, std::move(answer)));
      })
      ->start(gate_, processors());
}

void GradingDoor::grade_one(const std::string& owner, RunRequest request,
                            const std::shared_ptr<http::Exchange>& exchange) {
  const std::uint64_t bytes = request.bytes();
  gate_.enter(
      {.owner = owner,
       .work = [this, request = std::move(request),
                exchange] { exchange->send(http::json_response(200, to_json(grade(request)))); },
       .refused = [exchange] { exchange->send(busy("too many requests wait: try again")); },
       .bytes = bytes,
       .patience = Gate::Patience::limited});
}

void GradingDoor::stop() {
  gate_.close();
  stop_.request_stop();
}

}  // namespace cloche::grading
