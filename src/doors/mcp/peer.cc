// SPDX-License-Identifier: Apache-2.0
#include "doors/mcp/peer.h"

#include <fmt/format.h>

#include <vector>

#include "base/random.h"
#include "doors/mcp/methods.h"
#include "doors/mcp/subscriptions.h"

namespace cloche::mcp {

Peer::Peer(Hub& hub, Scope scope) : hub_(hub), scope_(std::move(scope)), name_(random_hex(8)) {}

Peer::~Peer() { scope_.subscriptions->remove_all(name_); }

void Peer::take(Message message, std::shared_ptr<Channel> stream) {
  switch (message.kind) {
    case Message::Kind::request: return serve(std::move(message), std::move(stream));
    case Message::Kind::notification: return take_notification(message);
    case Message::Kind::answer: return take_answer(std::move(message));
  }
}

void Peer::serve(Message message, std::shared_ptr<Channel> stream) {
  const Reply id = message.id;
  std::shared_ptr<Request> request;
  try {
    Asker asker = asker_of(message);
    const std::string key = id.dump();
    const MutexLock lock(mutex_);
    if (running_.contains(key)) {
      throw ProtocolError{code::invalid_request,
                          "a request with this id is in progress: take another one"};
    }
    if (running_.size() >= running_limit) {
      throw ProtocolError{
          code::invalid_request,
          fmt::format("{} requests are in progress: wait for some of them", running_limit)};
    }
    if (asker.era == Era::legacy) asker.capabilities = capabilities_;
    request =
        std::make_shared<Request>(std::move(message), std::move(asker), stream,
                                  [self = shared_from_this(), key] { return self->end(key); });
    running_.emplace(key, request);
    ++open_;
  } catch (const ProtocolError& error) {
    return stream->finish(error_response(id, error), error.code);
  }
  try {
    serve_method(request, *this);
  } catch (const ProtocolError& error) {
    request->fail(error);
  }
}

// What it gives keeps the request until it was called.
std::function<void()> Peer::end(const std::string& key) {
  Held held;
  {
    const MutexLock lock(mutex_);
    running_.erase(key);
    if (const auto found = held_.find(key); found != held_.end()) {
      held = std::move(found->second);
      held_.erase(found);
    }
  }
  return [self = shared_from_this(), held = std::move(held)] {
    {
      const MutexLock lock(self->mutex_);
      --self->open_;
      self->changed_.notify_all();
    }
    if (held.ended) held.ended();
  };
}

void Peer::hold(const std::shared_ptr<Request>& request, std::function<void()> ended) {
  const std::string key = request->id().dump();
  {
    const MutexLock lock(mutex_);
    if (running_.contains(key)) {
      held_.emplace(key, Held{request, std::move(ended)});
      return;
    }
  }
  ended();  // it was cancelled meanwhile
}

void Peer::take_notification(const Message& message) {
  if (message.method != "notifications/cancelled") return;  // nothing else is acted on
  const Json* id = member(message.params, "requestId");
  if (id == nullptr) return;
  std::shared_ptr<Request> request;
  {
    const MutexLock lock(mutex_);
    const auto found = running_.find(id->dump());
    if (found == running_.end()) return;
    request = found->second.lock();
  }
  // A handshake cannot be cancelled, and is answered at once anyway.
  if (request) request->cancel();
}

void Peer::take_answer(Message message) {
  if (!message.id.is_string()) return;
  const MutexLock lock(mutex_);
  const auto found = asked_.find(message.id.get_ref<const std::string&>());
  // One that nobody waits for any more is dropped.
  if (found == asked_.end() || found->second) return;
  found->second = std::move(message);
  changed_.notify_all();
}

std::optional<Json> Peer::ask(Request& request, std::string_view method, Reply params,
                              std::chrono::milliseconds patience) {
  std::string id;
  {
    const MutexLock lock(mutex_);
    id = fmt::format("cloche-{}", ++last_question_);
    asked_.emplace(id, std::nullopt);
  }
  request.send(server_request(id, method, std::move(params)));
  ReleasableMutexLock lock(mutex_);
  const auto asked = asked_.find(id);
  (void)changed_.wait_for(mutex_, request.stop(), patience,
                          [&]() REQUIRES(mutex_) { return asked->second.has_value(); });
  const std::optional<Message> answer = std::move(asked->second);
  asked_.erase(asked);
  lock.unlock();
  if (answer && !answer->result.is_null()) return answer->result;
  if (!answer)
    request.notify("notifications/cancelled", {{"requestId", id}, {"reason", "nobody answered"}});
  return std::nullopt;
}

std::string Peer::shake_hands(const Json& params) {
  const std::string_view wanted = text_member(params, "protocolVersion");
  const Json* capabilities = member(params, "capabilities");
  const MutexLock lock(mutex_);
  version_ = is_legacy_version(wanted) ? wanted : newest_legacy_version;
  capabilities_ = capabilities == nullptr ? Json(nullptr) : *capabilities;
  return version_;
}

bool Peer::speaks_newest_legacy() const {
  const MutexLock lock(mutex_);
  return version_ == newest_legacy_version;
}

void Peer::set_events(std::shared_ptr<Channel> stream) {
  {
    const MutexLock lock(mutex_);
    std::swap(events_, stream);
  }
  // The stream before ends: a client has one.
  if (stream) stream->abandon();
}

void Peer::send_event(std::string message) {
  std::shared_ptr<Channel> stream;
  {
    const MutexLock lock(mutex_);
    stream = events_;
  }
  if (stream) stream->send(std::move(message));
}

void Peer::end_listening() {
  std::vector<std::shared_ptr<Request>> all;
  {
    const MutexLock lock(mutex_);
    for (const auto& [id, held] : held_) all.push_back(held.request);
  }
  for (const auto& request : all)
    request->finish({{"_meta", {{meta::subscription, request->id()}}}});
}

std::vector<std::shared_ptr<Request>> Peer::running() const {
  std::vector<std::shared_ptr<Request>> all;
  const MutexLock lock(mutex_);
  for (const auto& [id, weak] : running_) {
    if (auto request = weak.lock()) all.push_back(std::move(request));
  }
  return all;
}

void Peer::cancel_all() {
  for (const auto& request : running()) request->cancel();
}

void Peer::call_off_all(const ProtocolError& why) {
  for (const auto& request : running()) request->call_off(why);
}

bool Peer::is_idle() const {
  const MutexLock lock(mutex_);
  return open_ == 0;
}

bool Peer::wait_idle(std::chrono::steady_clock::time_point deadline) const {
  const MutexLock lock(mutex_);
  return changed_.wait_until(mutex_, deadline, [this]() REQUIRES(mutex_) { return open_ == 0; });
}

}  // namespace cloche::mcp
