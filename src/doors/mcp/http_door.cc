// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/http_door.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/base64.h"
#include "base/random.h"
#include "base/utf8.h"
#include "doors/http/field_words.h"

namespace cloche::mcp {
namespace {

constexpr const char* version_field = "MCP-Protocol-Version";
constexpr const char* method_field = "Mcp-Method";
constexpr const char* name_field = "Mcp-Name";
constexpr const char* session_field = "Mcp-Session-Id";

http::Response refusal(int status, std::string sentence) {
  return error_page(status, nullptr, {code::invalid_request, std::move(sentence)});
}

http::Response wrong_method(std::string_view allowed) {
  return http::with_allow(refusal(405, "this method is not for this address"), allowed);
}

bool accepts(const http::Request& request, std::string_view type) {
  return std::ranges::any_of(http::field_words(request.fields, "Accept"),
                             [type](std::string_view item) {
                               item = item.substr(0, item.find(';'));
                               while (item.ends_with(' ')) item.remove_suffix(1);
                               return http::same_text(item, type);
                             });
}

bool is_json(std::string_view content_type) {
  content_type = content_type.substr(0, content_type.find(';'));
  while (content_type.ends_with(' ')) content_type.remove_suffix(1);
  return content_type.empty() || http::same_text(content_type, "application/json");
}

// The value of a field that may be there once; nothing where it is not.
std::optional<std::string_view> only_field(const http::Request& request, std::string_view name) {
  std::optional<std::string_view> found;
  for (const auto& [its_name, value] : request.fields) {
    if (!http::same_text(its_name, name)) continue;
    if (found) {
      throw ProtocolError{code::headers_disagree,
                          fmt::format("the field {} is there more than once", name)};
    }
    found = value;
  }
  return found;
}

// What a field says: as it is, or in base64 between =?base64? and ?=. Nothing for what is broken.
std::optional<std::string> decoded(std::string_view value) {
  constexpr std::string_view begin = "=?base64?", end = "?=";
  if (!value.starts_with(begin) || !value.ends_with(end) ||
      value.size() < begin.size() + end.size())
    return std::string(value);
  value.remove_prefix(begin.size());
  value.remove_suffix(end.size());
  std::optional<std::string> bytes = from_base64(value);
  if (!bytes || to_base64(*bytes) != value || !is_utf8(*bytes)) return std::nullopt;
  return bytes;
}

// The fields that tell proxies what is in the body must say what it says.
void check_fields(const http::Request& request, const Message& message) {
  const auto differs = [](std::string_view name) {
    return ProtocolError{code::headers_disagree,
                         fmt::format("the field {} is not what the body says", name)};
  };
  const Json* about = member(message.params, "_meta");
  const std::string_view version = about == nullptr ? "" : text_member(*about, meta::version);
  if (only_field(request, version_field).value_or("") != version) throw differs(version_field);
  if (only_field(request, method_field).value_or("") != message.method) throw differs(method_field);
  const auto name = only_field(request, name_field);
  const char* named_by = message.method == "tools/call"       ? "name"
                         : message.method == "resources/read" ? "uri"
                                                              : nullptr;
  if (named_by == nullptr) return;
  if (!name || decoded(*name) != text_member(message.params, named_by)) throw differs(name_field);
}

bool is_modern(const http::Request& request, const Message& message) {
  const Json* about = member(message.params, "_meta");
  return (about != nullptr && member(*about, meta::version) != nullptr) ||
         request.field(version_field) == modern_version;
}

}  // namespace

std::optional<std::string> HttpDoor::owner_of(const http::Request& head) const {
  if (parts_.tokens.empty()) return std::string();
  return parts_.tokens.owner_of_header(head.field("Authorization"));
}

http::Admission HttpDoor::admit(const http::Request& head) const {
  if (const auto fault = parts_.guard.fault(head, http::OriginGuard::Body::json))
    return {0, refusal(fault->status, fault->sentence)};
  const std::optional<std::string> owner = owner_of(head);
  if (owner) return {.body_limit_bytes = message_limit_bytes, .owner = *owner};
  http::Response response = refusal(401, "a token is wanted: Authorization: Bearer TOKEN");
  response.fields.emplace_back("WWW-Authenticate", "Bearer");
  return {0, std::move(response)};
}

void HttpDoor::handle(http::Request request, const ExchangePtr& exchange) {
  const std::optional<std::string> owner = owner_of(request);
  // Tokens may have been read anew since the head.
  if (!owner) return exchange->send(refusal(401, "this token is none any more"));
  if (request.method == "POST") return post(*owner, request, exchange);
  if (request.method == "GET") return get(*owner, request, exchange);
  if (request.method == "DELETE") return remove(*owner, request, exchange);
  exchange->send(wrong_method("GET, POST, DELETE"));
}

void HttpDoor::post(const std::string& owner, const http::Request& request,
                    const ExchangePtr& exchange) {
  if (!accepts(request, "application/json") || !accepts(request, "text/event-stream")) {
    return exchange->send(refusal(406, "Accept must name application/json and text/event-stream"));
  }
  if (!is_json(request.field("Content-Type")))
    return exchange->send(refusal(415, "the body must be application/json"));
  std::variant<Message, BadMessage> read = read_message(request.body);
  if (const auto* bad = std::get_if<BadMessage>(&read))
    return exchange->send(error_page(400, bad->id, bad->error));
  Message message = std::get<Message>(std::move(read));
  if (is_modern(request, message)) {
    post_modern(owner, request, std::move(message), exchange);
  } else {
    post_legacy(owner, request, std::move(message), exchange);
  }
}

void HttpDoor::post_modern(const std::string& owner, const http::Request& request, Message message,
                           const ExchangePtr& exchange) {
  if (message.kind == Message::Kind::notification) return exchange->send({202, {}, {}});
  if (message.kind == Message::Kind::answer)
    return exchange->send(refusal(400, "nothing was asked: the answer comes with the call"));
  const Reply id = message.id;
  try {
    std::optional<ProtocolError> wrong;
    try {
      if (asker_of(message).era == Era::legacy) {
        throw ProtocolError{code::invalid_params,
                            fmt::format("params._meta must have '{}', a string", meta::version)};
      }
    } catch (const ProtocolError& error) {
      if (error.code == code::invalid_params) throw;
      wrong = error;  // fields that disagree come before a version that is not spoken
    }
    check_fields(request, message);
    if (wrong) throw ProtocolError(*wrong);
  } catch (const ProtocolError& error) {
    return exchange->send(error_page(400, id, error));
  }

  const Tenant its = tenant(owner);
  const auto peer =
      std::make_shared<Peer>(parts_.hub, Scope{its.own, its.named, its.subscriptions, owner});
  {
    const MutexLock lock(mutex_);
    if (stopping_) return exchange->send(refusal(503, "the server is about to end"));
    std::erase_if(busy_, [](const auto& entry) { return entry.second.expired(); });
    busy_.emplace(peer.get(), peer);
  }
  const auto channel = std::make_shared<HttpChannel>(exchange, Era::modern, http::Fields());
  const Json* about = member(message.params, "_meta");
  const bool wants_progress = about != nullptr && member(*about, "progressToken") != nullptr;
  peer->take(std::move(message), channel);
  channel->go_on(wants_progress ? HttpChannel::Form::events : HttpChannel::Form::json,
                 [peer, &pool = parts_.hub.pool()] { pool.post([peer] { peer->cancel_all(); }); });
}

void HttpDoor::post_legacy(const std::string& owner, const http::Request& request, Message message,
                           const ExchangePtr& exchange) {
  const std::string_view version = request.field(version_field);
  if (!version.empty() && !is_legacy_version(version)) {
    return exchange->send(
        error_page(400, Reply(message.id),
                   {code::unsupported_version,
                    fmt::format("the version '{}' is not spoken here", shown(version)),
                    {{"supported", supported_versions()}, {"requested", shown(version)}}}));
  }
  std::string id(request.field(session_field));
  http::Fields fields;
  if (message.kind == Message::Kind::request && message.method == "initialize" && id.empty()) {
    id = open_session(owner);
    if (id.empty())
      return exchange->send(
          refusal(503, "there are too many sessions: end one, or come back later"));
    fields.emplace_back(session_field, id);
  }
  if (id.empty()) {
    return exchange->send(
        refusal(400, fmt::format("the field {} is missing: initialize gives it", session_field)));
  }
  const std::shared_ptr<Peer> peer = session(id, owner);
  if (!peer) return exchange->send(refusal(404, "there is no such session: initialize anew"));
  if (message.kind != Message::Kind::request) {
    peer->take(std::move(message), nullptr);
    return exchange->send({202, {}, {}});
  }
  const auto channel = std::make_shared<HttpChannel>(exchange, Era::legacy, std::move(fields));
  const Json* about = member(message.params, "_meta");
  const bool wants_progress = about != nullptr && member(*about, "progressToken") != nullptr;
  peer->take(std::move(message), channel);
  // A client that is gone has cancelled nothing in this era.
  if (wants_progress) channel->go_on(HttpChannel::Form::events, nullptr);
}

void HttpDoor::get(const std::string& owner, const http::Request& request,
                   const ExchangePtr& exchange) {
  const std::string id(request.field(session_field));
  if (id.empty()) return exchange->send(wrong_method("POST"));
  const std::shared_ptr<Peer> peer = session(id, owner);
  if (!peer) return exchange->send(refusal(404, "there is no such session: initialize anew"));
  if (!accepts(request, "text/event-stream"))
    return exchange->send(refusal(406, "Accept must name text/event-stream"));
  const auto channel = std::make_shared<HttpChannel>(exchange, Era::legacy, http::Fields());
  channel->go_on(HttpChannel::Form::events, nullptr);
  peer->set_events(channel);
}

void HttpDoor::remove(const std::string& owner, const http::Request& request,
                      const ExchangePtr& exchange) {
  const std::string id(request.field(session_field));
  if (id.empty()) return exchange->send(wrong_method("POST"));
  if (!session(id, owner))
    return exchange->send(refusal(404, "there is no such session: initialize anew"));
  // Ending what runs there may take a moment.
  parts_.hub.pool().post([this, id, exchange] {
    end_session(id);
    exchange->send({204, {}, {}});
  });
}

HttpDoor::Tenant HttpDoor::tenant(const std::string& owner) {
  const MutexLock lock(mutex_);
  Tenant& its = tenants_[owner];
  if (!its.own) {
    its.own = parts_.hub.make_space(owner);
    its.named = parts_.hub.make_space(owner);
  }
  return its;
}

std::shared_ptr<Peer> HttpDoor::session(const std::string& id, const std::string& owner) {
  const MutexLock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end() || found->second.owner != owner) return nullptr;
  found->second.last_use = std::chrono::steady_clock::now();
  return found->second.peer;
}

std::string HttpDoor::open_session(const std::string& owner) {
  // Where there are no tokens nobody leaves a place to others.
  std::optional<ShareLimit::Permit> place =
      owner.empty() ? places_.acquire() : places_.acquire(owner);
  if (!place) return {};
  const Tenant its = tenant(owner);
  const auto peer = std::make_shared<Peer>(
      parts_.hub, Scope{parts_.hub.make_space(owner), its.named, its.subscriptions, owner});
  const std::string id = random_uuid();
  {
    const MutexLock lock(mutex_);
    if (stopping_) return {};
    sessions_.emplace(id,
                      Session{owner, peer, std::chrono::steady_clock::now(), *std::move(place)});
  }
  watch(id);
  return id;
}

// One that is used meanwhile is looked at again later.
void HttpDoor::watch(const std::string& id) {
  std::optional<std::chrono::steady_clock::time_point> due;
  {
    const MutexLock lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end() || stopping_) return;
    const bool is_busy = !found->second.peer->is_idle();
    const auto now = std::chrono::steady_clock::now();
    due = (is_busy ? now : found->second.last_use) + idle_timeout;
    if (*due <= now) due.reset();
  }
  if (!due) return parts_.hub.pool().post([this, id] { end_session(id); });
  (void)parts_.hub.timers().at(*due, [this, id] { watch(id); });
}

void HttpDoor::end_session(const std::string& id) {
  std::shared_ptr<Peer> peer;
  {
    const MutexLock lock(mutex_);
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return;
    peer = std::move(found->second.peer);
    sessions_.erase(found);
  }
  peer->set_events(nullptr);
  peer->call_off_all({code::internal_error, "the session was ended while this was in progress"});
  peer->scope().own->close();
}

void HttpDoor::end_listening() {
  std::vector<std::shared_ptr<Peer>> peers;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, session] : sessions_) peers.push_back(session.peer);
    for (const auto& [key, weak] : busy_) {
      if (auto peer = weak.lock()) peers.push_back(std::move(peer));
    }
  }
  for (const auto& peer : peers) {
    peer->set_events(nullptr);
    peer->end_listening();
  }
}

void HttpDoor::stop() {
  std::map<std::string, Tenant> tenants;
  std::vector<std::shared_ptr<Peer>> peers;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    tenants.swap(tenants_);
    for (const auto& [id, session] : sessions_) peers.push_back(session.peer);
    for (const auto& [key, weak] : busy_) {
      if (auto peer = weak.lock()) peers.push_back(std::move(peer));
    }
    sessions_.clear();
  }
  for (const auto& peer : peers) {
    peer->set_events(nullptr);
    peer->call_off_all({code::internal_error, "the server has ended while this was in progress"});
    peer->scope().own->close();
  }
  for (const auto& [owner, its] : tenants) {
    its.own->close();
    its.named->close();
  }
}

}  // namespace cloche::mcp
