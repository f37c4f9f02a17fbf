// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/debug_listeners.h"

#include <string>
#include <utility>

#include "base/mutex.h"
#include "doors/e2b/rest_wire.h"
#include "doors/e2b/target.h"
#include "doors/http/origin_guard.h"

namespace cloche::e2b {
namespace {

constexpr const char* here = "127.0.0.1";
constexpr std::chrono::years for_ever{10};

// Only what says whom a request is for is put in the client's place.
http::Request request_for(http::Request request, const std::string& id, std::uint16_t port) {
  std::erase_if(request.fields, [](const auto& field) {
    return http::same_text(field.first, "Host") || http::same_text(field.first, "E2b-Sandbox-Id") ||
           http::same_text(field.first, "E2b-Sandbox-Port");
  });
  request.fields.emplace_back("Host", "localhost");
  request.fields.emplace_back("E2b-Sandbox-Id", id);
  request.fields.emplace_back("E2b-Sandbox-Port", std::to_string(port));
  return request;
}

http::ServerOptions options_for(std::uint16_t port) {
  http::ServerOptions options;
  options.host = here;
  options.port = port;
  options.threads = 1;
  return options;
}

}  // namespace

class DebugListeners::TheBox {
 public:
  explicit TheBox(Boxes& boxes) : boxes_(boxes) {}

  // Its id. Waits where it is made.
  std::variant<std::string, Denial> id() {
    const MutexLock lock(mutex_);
    if (!id_.empty() && boxes_.find_any(id_)) return id_;
    BoxWish wish;
    wish.template_id = "base";
    wish.timeout = std::chrono::duration_cast<Seconds>(for_ever);
    wish.is_secure = false;
    auto made = boxes_.create({}, std::move(wish));
    if (auto* denial = std::get_if<Denial>(&made)) return std::move(*denial);
    id_ = std::get<BoxPtr>(made)->id;
    return id_;
  }

 private:
  Boxes& boxes_;
  Mutex mutex_;
  std::string id_ GUARDED_BY(mutex_);
};

class DebugListeners::Port final : public http::Application {
 public:
  Port(Boxes& boxes, E2bDoor& door, TheBox& box, std::uint16_t port)
      : file_limit_bytes_(boxes.options().file_limit_bytes),
        door_(door),
        box_(box),
        port_(port),
        server_(options_for(port), *this) {}

  http::Admission admit(const http::Request& head) override {
    // Clients send files as forms, as pages do, too.
    const auto body = port_ == agent_port && head.path == "/files" ? http::OriginGuard::Body::bytes
                                                                   : http::OriginGuard::Body::json;
    if (const auto fault = guard_.fault(head, body))
      return {0, rest_error(fault->status, fault->sentence)};
    return {.body_limit_bytes = E2bDoor::body_limit_bytes(port_, head.path, file_limit_bytes_)};
  }
  void handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override {
    const auto id = box_.id();
    if (const auto* denial = std::get_if<Denial>(&id))
      return exchange->send(rest_error(denial->status, denial->sentence));
    door_.handle(request_for(std::move(request), std::get<std::string>(id), port_),
                 std::move(exchange));
  }
  http::Response reject(int status, std::string_view reason) override {
    return rest_error(status, reason);
  }

  http::Server& server() { return server_; }

 private:
  const std::uint64_t file_limit_bytes_;
  const http::OriginGuard guard_{here, {}, {}};
  E2bDoor& door_;
  TheBox& box_;
  const std::uint16_t port_;
  http::Server server_;
};

DebugListeners::DebugListeners(Boxes& boxes, E2bDoor& door)
    : box_(std::make_unique<TheBox>(boxes)),
      agent_(std::make_unique<Port>(boxes, door, *box_, agent_port)),
      code_(std::make_unique<Port>(boxes, door, *box_, code_port)) {}
DebugListeners::~DebugListeners() = default;

void DebugListeners::close_after_answers() {
  agent_->server().close_after_answers();
  code_->server().close_after_answers();
}

void DebugListeners::drain(std::chrono::milliseconds patience) {
  agent_->server().drain(patience);
  code_->server().drain(patience);
}

}  // namespace cloche::e2b
