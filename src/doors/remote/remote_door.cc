// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/remote_door.h"

#include <utility>

#include "base/base64.h"
#include "doors/remote/client.h"

namespace cloche::remote {
namespace {

constexpr std::string_view token_protocol = "cloche.token.";
constexpr std::chrono::seconds sweep_interval{30};

// Calls `take` for each word of a comma-separated field, in all fields of that name, until it says
// true.
template <typename Take>
bool any_word(const http::Request& head, std::string_view name, Take take) {
  for (const auto& [field, value] : head.fields) {
    if (!http::same_text(field, name)) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string_view word = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
      while (word.starts_with(' ') || word.starts_with('\t')) word.remove_prefix(1);
      while (word.ends_with(' ') || word.ends_with('\t')) word.remove_suffix(1);
      if (take(word)) return true;
    }
  }
  return false;
}

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
      terminals_(parts_.workers),
      sweeping_(ticker_.add(sweep_interval, [this] { terminals_.drop_forgotten(); })) {}

RemoteDoor::~RemoteDoor() { ticker_.remove(sweeping_); }

RemoteDoor::Verdict RemoteDoor::judge(const http::Request& head) const {
  const auto is = [](std::string_view wanted) {
    return [wanted](std::string_view word) { return http::same_text(word, wanted); };
  };
  if (const auto fault = doorkeepers_.guard.page_fault(head))
    return {fault->status, fault->sentence};
  if (head.method != "GET" || !any_word(head, "Upgrade", is("websocket")) ||
      !any_word(head, "Connection", is("upgrade")))
    return {426, "this address is a WebSocket: ask for one"};
  if (head.field("Sec-WebSocket-Version") != "13")
    return {426, "this server speaks version 13 of the WebSocket protocol"};
  if (!any_word(head, "Sec-WebSocket-Protocol", is(protocol)))
    return {400, "offer the subprotocol cloche.rpc.v1"};
  if (doorkeepers_.tokens.empty()) return {};
  std::optional<std::string> owner =
      doorkeepers_.tokens.owner_of_header(head.field("Authorization"));
  if (!owner) owner = doorkeepers_.logins.owner_of(head);
  if (!owner) {
    (void)any_word(head, "Sec-WebSocket-Protocol", [&](std::string_view word) {
      if (!word.starts_with(token_protocol)) return false;
      const auto token = from_base64_url(word.substr(token_protocol.size()));
      if (token) owner = doorkeepers_.tokens.owner_of(*token);
      return owner.has_value();
    });
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
  auto client = std::make_shared<Client>(Client::Uses{parts_, terminals_, ticker_, received_},
                                         std::move(verdict.owner));
  exchange->open_web_socket(std::move(request), std::string(protocol), std::move(client));
}

}  // namespace cloche::remote
