// SPDX-License-Identifier: Apache-2.0
#include "doors/e2b/e2b_door.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "base/constant_time.h"
#include "base/json_string.h"
#include "doors/e2b/file_transfer.h"
#include "doors/e2b/rest_wire.h"
#include "doors/e2b/signed_address.h"
#include "doors/http/answering.h"
#include "doors/http/response_head.h"

namespace cloche::e2b {
namespace {

// What woke a sandbox has work for it: a sandbox with a short life must not end meanwhile.
constexpr Seconds woken_for_at_least{300};

constexpr std::uint64_t rest_body_max_bytes = 1 << 20;
constexpr std::uint64_t agent_body_max_bytes = 32 << 20;
constexpr std::uint64_t form_extra_bytes = 1 << 20;

http::Response gateway_error(const std::string& id, std::string_view message,
                             std::uint16_t port = 0) {
  std::string text =
      fmt::format(R"({{"sandboxId":{},"message":{})", json_string(id), json_string(message));
  if (port != 0) text += fmt::format(R"(,"port":{})", port);
  return http::json_response(502, text + R"(,"code":502})");
}

http::Response not_found(const std::string& id) { return gateway_error(id, sandbox_not_found); }

http::Response bad_signature(Signature its) {
  return rest_error(401, its == Signature::expired ? "signature is already expired"
                                                   : "the signature of this address is not valid");
}

std::string host_for_server(const Box& box, std::uint16_t port) {
  std::string host;
  {
    const MutexLock lock(box.mutex);
    host = box.mask_request_host;
  }
  const std::string number = std::to_string(port);
  for (std::size_t at = host.find(port_in_host); at != host.npos;
       at = host.find(port_in_host, at + number.size()))
    host.replace(at, port_in_host.size(), number);
  return host;
}

bool is_token(std::string_view given, const std::string& token) {
  return !given.empty() && is_same_secret(given, token);
}

}  // namespace

E2bDoor::E2bDoor(Parts parts, DoorOptions options)
    : parts_(parts),
      options_(std::move(options)),
      templates_(parts.boxes, parts.workers, options_.build_network),
      template_routes_(templates_) {}

bool E2bDoor::is_mine(const http::Request& head) {
  return target_of(head).kind != Target::Kind::none;
}

bool E2bDoor::is_server_inside(std::string_view host) {
  const auto target = target_of_host(host);
  return target && target->port != agent_port && target->port != code_port;
}

bool E2bDoor::is_of_sandbox(const http::Request& head) {
  const Target::Kind kind = target_of(head).kind;
  return kind == Target::Kind::port || kind == Target::Kind::signed_address;
}

http::Response E2bDoor::reject(int status, std::string_view reason) {
  return rest_error(status, reason);
}

std::optional<std::string> E2bDoor::owner_of(const http::Request& request) const {
  if (const std::string_view key = request.field("X-API-KEY"); !key.empty())
    return parts_.tokens.empty() ? std::string() : parts_.tokens.owner_of(key);
  return parts_.tokens.owner_of_header(request.field("Authorization"));
}

http::Admission E2bDoor::admit(const http::Request& head) {
  Target target = target_of(head);
  if (target.kind == Target::Kind::broken)
    return {0, rest_error(400, "E2b-Sandbox-Id and E2b-Sandbox-Port belong together")};
  if (TemplateRoutes::is_upload(head)) {
    std::optional<std::string> owner = template_routes_.owner_of_upload(head);
    if (!owner)
      return {0, rest_error(403, "the ticket of this address is over, or is not its own")};
    return {.body_limit_bytes = templates_.files().limits().archive_bytes,
            .owner = *std::move(owner)};
  }
  if (target.kind == Target::Kind::rest) {
    std::optional<std::string> owner = owner_of(head);
    if (!owner) return {0, rest_error(401, "a known key is required: X-API-KEY")};
    return {.body_limit_bytes = rest_body_max_bytes, .owner = *std::move(owner)};
  }
  auto found = box_of(target, head);
  if (auto* refusal = std::get_if<http::Response>(&found)) return {0, std::move(*refusal)};
  const BoxPtr box = std::get<BoxPtr>(std::move(found));
  if (auto fault = access_fault(target, *box, head)) return {0, std::move(fault)};
  if (target.port != agent_port && target.port != code_port) {
    return {.body_limit_bytes = UINT64_MAX,
            .owner = box->owner,
            .only_http1 = true,
            .leaves_body = true};
  }
  return {.body_limit_bytes = body_limit_bytes(target.port, head.path, box->limits.file_bytes),
          .owner = box->owner};
}

std::uint64_t E2bDoor::body_limit_bytes(std::uint16_t port, std::string_view path,
                                        std::uint64_t file_limit_bytes) {
  const bool is_upload = port == agent_port && path == "/files";
  return is_upload ? file_limit_bytes + form_extra_bytes : agent_body_max_bytes;
}

void E2bDoor::answer(const ExchangePtr& exchange, const std::string& owner,
                     std::function<http::Response()> work) {
  parts_.workers.do_here(http::answering(exchange, std::move(work),
                                         [](const char* why) { return rest_error(500, why); }),
                         owner);
}

void E2bDoor::handle(http::Request request, ExchangePtr exchange) {
  const Target target = target_of(request);
  if (target.kind != Target::Kind::rest) return handle_port(target, std::move(request), exchange);
  const std::optional<std::string> owner = TemplateRoutes::is_upload(request)
                                               ? template_routes_.owner_of_upload(request)
                                               : owner_of(request);
  if (!owner) return exchange->send(rest_error(401, "a known key is required: X-API-KEY"));
  answer(exchange, *owner,
         [this, owner = *owner, request = std::move(request)] { return rest(owner, request); });
}

std::variant<BoxPtr, http::Response> E2bDoor::box_of(const Target& target,
                                                     const http::Request& request) {
  if (target.kind == Target::Kind::signed_address) {
    const SignedAddress address(request);
    BoxPtr signer = address.find_signer(parts_.boxes);
    if (!signer) return bad_signature(Signature::wrong);
    if (const Signature its = address.of(*signer); its != Signature::good)
      return bad_signature(its);
    return signer;
  }
  BoxPtr box = parts_.boxes.find_any(target.id);
  if (!box) return not_found(target.id);
  if (box->session->status() == session::Status::paused && !box->wish.auto_resume)
    return not_found(target.id);
  return box;
}

std::optional<http::Response> E2bDoor::access_fault(const Target& target, const Box& box,
                                                    const http::Request& request) const {
  const std::string_view traffic = request.field("E2B-Traffic-Access-Token");
  if (target.port == agent_port) {
    if (request.path == "/health" || box.agent_token.empty()) return std::nullopt;
    if (is_token(request.field("X-Access-Token"), box.agent_token)) return std::nullopt;
    if (request.path == "/files" && query_value(request, "signature")) {
      const Signature its = SignedAddress(request).of(box);
      if (its == Signature::good) return std::nullopt;
      return bad_signature(its);
    }
    return rest_error(401, "X-Access-Token is missing, or is not this sandbox's");
  }
  if (target.port == code_port) {
    if (box.agent_token.empty() || is_token(request.field("X-Access-Token"), box.agent_token) ||
        is_token(traffic, box.traffic_token))
      return std::nullopt;
    return rest_error(403, "a token of this sandbox is missing, or is not its own");
  }
  const MutexLock lock(box.mutex);
  if (box.allow_public_traffic || is_token(traffic, box.traffic_token)) return std::nullopt;
  return rest_error(403, "the ports of this sandbox want e2b-traffic-access-token");
}

void E2bDoor::handle_port(const Target& target, http::Request request,
                          const ExchangePtr& exchange) {
  auto found = box_of(target, request);
  if (auto* refusal = std::get_if<http::Response>(&found))
    return exchange->send(std::move(*refusal));
  BoxPtr box = std::get<BoxPtr>(std::move(found));
  const std::string owner = box->owner;
  parts_.workers.do_here(
      [this, target, box = std::move(box), request = std::move(request), exchange]() mutable {
        try {
          ask_box(target, box, std::move(request), exchange);
        } catch (const std::exception&) {
          // Nobody has the exchange any more then: it has answered.
        }
      },
      owner);
}

void E2bDoor::ask_box(const Target& target, const BoxPtr& box, http::Request request,
                      const ExchangePtr& exchange) {
  if (box->session->status() == session::Status::paused)
    (void)parts_.boxes.resume(box, std::max(box->wish.timeout, woken_for_at_least));
  session::Session::Use use = session::Session::use(box->session);
  if (!use) return exchange->send(not_found(box->id));
  if (target.port == agent_port)
    return ask_agent(box, std::move(use), std::move(request), exchange);
  if (target.port == code_port) return box->interpreter.handle(std::move(use), request, exchange);
  relay(*box, target.port, std::move(use), request, *exchange);
}

void E2bDoor::relay(const Box& box, std::uint16_t port, session::Session::Use use,
                    const http::Request& request, http::Exchange& exchange) {
  http::Response closed =
      gateway_error(box.id, "The sandbox is running but port is not open", port);
  const std::string last_words = http::response_head(closed, {},
                                                     {.persistence = http::Persistence::close,
                                                      .content_length = closed.body.size(),
                                                      .chunked = false}) +
                                 closed.body;
  auto asked = request_for_server(request, host_for_server(box, port));
  if (!asked) return exchange.send(rest_error(400, "what is asked for must be a path"));
  const Result<void> started = parts_.boxes.relays().start({.id = box.id,
                                                            .owner = box.owner,
                                                            .use = std::move(use),
                                                            .port = port,
                                                            .request = *std::move(asked),
                                                            .last_words = last_words},
                                                           exchange);
  if (started) return;
  if (started.error() != Errno::mfile) return exchange.send(std::move(closed));
  exchange.send(rest_error(503, "too many connections to servers in sandboxes"));
}

}  // namespace cloche::e2b
