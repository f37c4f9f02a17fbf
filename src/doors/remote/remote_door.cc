// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/remote_door.h"

#include <utility>

#include "base/base64.h"
#include "doors/http/field_words.h"
#include "doors/remote/client.h"

namespace cloche::remote {
namespace {

constexpr std::string_view token_protocol = "cloche.token.";
constexpr std::chrono::seconds sweep_interval{30};

// base64url, with or without its padding.
std::optional<std::string> from_base64_url(std::string_view text) {
  std::string plain(text);
  for (char& c : plain) {
    if (c == '-') c = '+';
    if (c == '_') c = '/';
  }
  while (plain.size() % 4 != 0) plain += '=';
  return from_base64(plain);
}

}  // namespace

RemoteDoor::RemoteDoor(Parts parts, Doorkeepers doorkeepers)
    : parts_(std::move(parts)),
      doorkeepers_(doorkeepers),
      terminals_(parts_.sessions, parts_.workers),
      sweeping_(ticker_.add(sweep_interval, [this] { terminals_.drop_forgotten(); })) {}

RemoteDoor::~RemoteDoor() { ticker_.remove(sweeping_); }

RemoteDoor::Verdict RemoteDoor::judge(const http::Request& head) const {
  if (const auto fault = doorkeepers_.guard.page_fault(head))
    return {fault->status, fault->sentence};
  if (head.method != "GET" || !http::has_word(head.fields, "Upgrade", "websocket") ||
      !http::has_word(head.fields, "Connection", "upgrade"))
    return {426, "this address is a WebSocket: ask for one"};
  if (head.field("Sec-WebSocket-Version") != "13")
    return {426, "this server speaks version 13 of the WebSocket protocol"};
  if (!http::has_word(head.fields, "Sec-WebSocket-Protocol", protocol))
    return {400, "offer the subprotocol cloche.rpc.v1"};
  if (doorkeepers_.tokens.empty()) return {};
  std::optional<std::string> owner =
      doorkeepers_.tokens.owner_of_header(head.field("Authorization"));
  if (!owner) owner = doorkeepers_.logins.owner_of(head);
  for (const std::string_view word : http::field_words(head.fields, "Sec-WebSocket-Protocol")) {
    if (owner || !word.starts_with(token_protocol)) continue;
    const auto token = from_base64_url(word.substr(token_protocol.size()));
    if (token) owner = doorkeepers_.tokens.owner_of(*token);
  }
  if (!owner) {
    return {401,
            "there is no good token: send Authorization: Bearer TOKEN, or offer the "
            "subprotocol cloche.token. and the token in base64url"};
  }
  return {.owner = *std::move(owner)};
}

void RemoteDoor::open(http::Request request, const std::shared_ptr<http::Exchange>& exchange) {
  Verdict verdict = judge(request);
  // A token may have gone since it was judged before.
  if (verdict.status != 101)
    return exchange->send(http::text_response(verdict.status, std::move(verdict.sentence)));
  auto client =
      std::make_shared<Client>(Client::Uses{parts_, terminals_, ticker_}, std::move(verdict.owner));
  exchange->open_web_socket(std::move(request), std::string(protocol), std::move(client));
}

}  // namespace cloche::remote
