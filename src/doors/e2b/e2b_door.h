// SPDX-License-Identifier: Apache-2.0
// E2bDoor: the wire of E2B, so that programs written for its SDKs run against this server:
// sandboxes by REST, and of each sandbox the agent (port 49983), the code interpreter (port 49999)
// and the servers inside (any other port).
//
// It translates requests to a SessionManager's sessions and back. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "doors/e2b/agent.h"
#include "doors/e2b/boxes.h"
#include "doors/e2b/request_memory.h"
#include "doors/e2b/target.h"
#include "doors/e2b/template_routes.h"
#include "doors/http/server.h"
#include "doors/http/token_store.h"
#include "session/worker_pool.h"

namespace cloche::e2b {

struct DoorOptions {
  std::string domain;                                     // told to clients; empty: none
  TemplateImages images;                                  // templates of the operator
  cloche::Isolation isolation = cloche::Isolation::full;  // of those
  std::vector<std::string> network;        // rules of what sandboxes may reach, besides sessions'
  std::vector<std::string> build_network;  // rules of what builds of templates may reach
  bool listens_for_debug = false;          // DebugListeners
  enum class Secrecy : std::uint8_t { as_asked, always } secrecy = Secrecy::as_asked;
};

class E2bDoor {
 public:
  // All of them outlive it; it must outlive the work it posts to `workers`.
  struct Parts {
    Boxes& boxes;
    session::WorkerPool& workers;
    const http::TokenStore& tokens;
  };
  E2bDoor(Parts parts, DoorOptions options);

  // Whether the request is for this door, and whether what it asks for is known by more than that
  // it comes from this machine: by a token, or an id that cannot be guessed.
  static bool is_mine(const http::Request& head);
  static bool is_of_sandbox(const http::Request& head);
  // Whether its body is bytes, of no type that says so.
  static bool is_upload(const http::Request& head) { return TemplateRoutes::is_upload(head); }
  // Whether that name is of a server in a sandbox, which speaks HTTP/1.1.
  static bool is_server_inside(std::string_view host);

  // Of a request for the agent or the code interpreter, of a sandbox with that room for files.
  static std::uint64_t body_limit_bytes(std::uint16_t port, std::string_view path,
                                        std::uint64_t file_limit_bytes);

  // A request without a good key or token is refused here, so that nobody sends a body for nothing.
  http::Admission admit(const http::Request& head);
  // Waits for what is asked of a sandbox.
  void handle(http::Request request, std::shared_ptr<http::Exchange> exchange);
  static http::Response reject(int status, std::string_view reason);

 private:
  using ExchangePtr = std::shared_ptr<http::Exchange>;

  std::optional<std::string> owner_of(const http::Request& request) const;
  // The sandbox of a request for a port, running: one that resumes by itself does so now.
  std::variant<BoxPtr, http::Response> box_of(const Target& target, const http::Request& request);
  std::optional<http::Response> access_fault(const Target& target, const Box& box,
                                             const http::Request& request) const;
  void handle_port(const Target& target, http::Request request, const ExchangePtr& exchange);
  void ask_box(const Target& target, const BoxPtr& box, http::Request request,
               const ExchangePtr& exchange);
  // To a server inside.
  void relay(const Box& box, std::uint16_t port, session::Session::Use use,
             const http::Request& request, http::Exchange& exchange);
  http::Response rest(const std::string& owner, const http::Request& request);
  http::Response create(const std::string& owner, const http::Request& request, Seconds timeout);
  http::Response list(const std::string& owner, const http::Request& request);
  http::Response list_snapshots(const std::string& owner, const http::Request& request);
  http::Response metrics_of_many(const std::string& owner, const http::Request& request);
  http::Response metrics(Box& box, const http::Request& request);
  http::Response details(Box& box);
  http::Response of_box(const BoxPtr& box, std::string_view action, const http::Request& request);
  // `action`: connect or resume.
  http::Response connect(const BoxPtr& box, std::string_view action, const http::Request& request);
  http::Response fork(const BoxPtr& box, const http::Request& request);
  http::Response snapshot(const BoxPtr& box, const http::Request& request);
  http::Response pause(const BoxPtr& box, const http::Request& request);
  // `action`: timeout or refreshes.
  http::Response set_timeout(const BoxPtr& box, std::string_view action,
                             const http::Request& request);
  http::Response set_network(const BoxPtr& box, const http::Request& request);
  std::string created_json(const Box& box) const;
  void answer(const ExchangePtr& exchange, const std::string& owner,
              std::function<http::Response()> work);

  Parts parts_;
  const DoorOptions options_;
  Templates templates_;
  TemplateRoutes template_routes_;
  RequestMemory requests_;
};

}  // namespace cloche::e2b
