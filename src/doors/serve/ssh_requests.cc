// SPDX-License-Identifier: Apache-2.0
#include "doors/serve/ssh_requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/base64.h"

namespace cloche::serve {
namespace {

constexpr std::string_view ssh_folder = "/cell/ssh/";
// KIND BASE64.
constexpr std::string_view proof_field = "X-Cloche-Login";
constexpr std::string_view client_field = "X-Cloche-Ssh-Client";
// Of the answer: BASE64.
constexpr std::string_view owner_field = "X-Cloche-Owner";
constexpr std::string_view password_word = "password ";
constexpr std::string_view key_word = "key ";

std::string text_of(const ssh::Proof& proof) {
  const bool is_key = proof.kind == ssh::Proof::Kind::key;
  return fmt::format("{}{}", is_key ? key_word : password_word, to_base64(proof.text));
}

std::optional<ssh::Proof> proof_in(std::string_view field) {
  const bool is_key = field.starts_with(key_word);
  if (!is_key && !field.starts_with(password_word)) return std::nullopt;
  field.remove_prefix(is_key ? key_word.size() : password_word.size());
  auto text = from_base64(field);
  if (!text) return std::nullopt;
  return ssh::Proof{is_key ? ssh::Proof::Kind::key : ssh::Proof::Kind::password, *std::move(text)};
}

http::Request ssh_request(std::string_view method, std::string_view id, const ssh::Proof& proof) {
  http::Request request;
  request.method = method;
  request.target = fmt::format("{}{}", ssh_folder, id);
  request.fields = {{"Host", "cell"}, {std::string(proof_field), text_of(proof)}};
  return request;
}

ssh::Elsewhere::Verdict verdict_of(int status) {
  using Verdict = ssh::Elsewhere::Verdict;
  switch (status) {
    case 200: return Verdict::opens;
    case 404: return Verdict::none;
    case 409:
    case 500:
    case 503: return Verdict::away;
    default: return Verdict::refused;
  }
}

}  // namespace

bool is_ssh_path(std::string_view path) { return path.starts_with(ssh_folder); }

void answer_ssh_request(const http::Request& request,
                        const std::shared_ptr<http::Exchange>& exchange,
                        session::SessionManager& sessions, ssh::SshDoor& door) {
  const auto say = [&](int status, std::string text) {
    exchange->send(http::text_response(status, std::move(text)));
  };
  const bool opens = request.method == "CONNECT";
  if (!opens && request.method != "GET") return say(405, "a cell GETs this, or CONNECTs\n");
  const auto proof = proof_in(request.field(proof_field));
  if (!proof) return say(400, "there is nothing to log in by\n");
  const std::string id = request.path.substr(ssh_folder.size());
  const auto session = sessions.find_any(id);
  if (!session) {
    if (sessions.other_cell(id)) return say(421, "this session belongs to another cell\n");
    return sessions.is_unreadable(id) ? say(500, "the saved state of this session cannot be read\n")
                                      : say(404, "there is no such session\n");
  }
  if (!door.opens(*session, *proof)) return say(401, "that does not open the session\n");
  if (!opens) return say(200, "that would open the session\n");
  if (session->status() == session::Status::failed) return say(409, session->trouble() + "\n");
  if (session->status() != session::Status::running)
    return say(409, "the session is paused: resume it first\n");
  if (!door.has_room()) return say(503, "there are too many SSH connections\n");
  session->touch();
  exchange->open_tunnel(
      {{std::string(owner_field), to_base64(session->facts().owner)}},
      [&door, session, client = std::string(request.field(client_field))](int fd) {
        door.serve(UniqueFd(fd), session, session->facts().id, ssh::Forwarded{client});
      });
}

ssh::Elsewhere::Verdict SshElsewhere::judge(std::string_view session_id, const ssh::Proof& proof) {
  return verdict_of(router_.ask_cell_of(session_id, ssh_request("GET", session_id, proof)).status);
}

ssh::Elsewhere::Opened SshElsewhere::open(std::string_view session_id, const ssh::Proof& proof,
                                          std::string_view client) {
  http::Request request = ssh_request("CONNECT", session_id, proof);
  // What the client says of itself may be any line.
  std::string name(client);
  std::erase_if(name, [](unsigned char c) { return c < ' ' || c > '~'; });
  request.fields.emplace_back(client_field, std::move(name));
  cluster::Router::Reply reply = router_.ask_cell_of(session_id, request);
  std::string owner;
  for (const auto& [field, value] : reply.fields) {
    if (http::same_text(field, owner_field)) owner = from_base64(value).value_or("");
  }
  return {verdict_of(reply.status), std::move(reply.tunnel), std::move(owner)};
}

}  // namespace cloche::serve
