// SPDX-License-Identifier: Apache-2.0
// Application: which door a request belongs to, and what all doors share: metrics and the log of
// requests.
#pragma once

#include "cluster/router.h"
#include "doors/console/console_door.h"
#include "doors/e2b/e2b_door.h"
#include "doors/grading/grading_door.h"
#include "doors/http/answer_memory.h"
#include "doors/http/log.h"
#include "doors/http/metrics.h"
#include "doors/http/origin_guard.h"
#include "doors/http/server.h"
#include "doors/mcp/http_door.h"
#include "doors/remote/remote_door.h"
#include "doors/rest/rest_door.h"
#include "doors/serve/isolation.h"
#include "doors/serve/options.h"
#include "doors/steps/step_door.h"
#include "doors/telemetry/recorders.h"

namespace cloche::serve {

class Application final : public http::Application {
 public:
  // All of them outlive it.
  struct Parts {
    steps::StepDoor& steps;
    rest::RestDoor& rest;
    mcp::HttpDoor& mcp;
    remote::RemoteDoor& remote;
    console::ConsoleDoor* console;  // null: there is none
    e2b::E2bDoor& e2b;
    grading::GradingDoor& grading;
    http::Metrics& metrics;
    http::Log& log;
    const http::OriginGuard& guard;
    const http::TokenStore& tokens;
    cluster::Router* router = nullptr;  // null: there are no other cells
    // Answers what they ask of this one, at /cell and below it.
    std::function<void(const http::Request& request,
                       const std::shared_ptr<http::Exchange>& exchange)>
        to_peer = {};
    Workers* workers = nullptr;  // null: sandboxes are in this process
    telemetry::Recorders recorders = {};
  };
  Application(Parts parts, Api api) : parts_(std::move(parts)), api_(api) {}

  http::Admission admit(const http::Request& head) override;
  void handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override;
  http::Response reject(int status, std::string_view reason) override;
  bool offers_http2(std::string_view server_name) const override;

 private:
  // The path for the REST door where the request is its own.
  bool is_rest(const std::string& path, std::string& rest_path) const;
  bool is_remote(std::string_view path) const {
    return api_ == Api::sessions && path == remote::RemoteDoor::path;
  }
  bool is_console(std::string_view path) const {
    return parts_.console && api_ == Api::sessions && console::ConsoleDoor::is_own(path);
  }
  bool is_grading(std::string_view path) const {
    return api_ == Api::sessions && grading::GradingDoor::is_mine(path);
  }
  http::Admission admit_page(const http::Request& head);
  http::Admission admit_known(const http::Request& head);
  http::Admission admit_remote(const http::Request& head);
  http::Admission admit_e2b(const http::Request& head);
  // Whether everybody gets the same answer, which tells of no session.
  bool is_public(const http::Request& head) const;
  bool is_for_worker(const http::Request& request) const;
  // A request that was let in, and whose it is.
  struct Asked {
    http::Request request;
    std::string rest_path;  // empty for a step
    std::string owner;
    bool is_step = false;
  };
  void to_worker(http::Request request, const std::shared_ptr<http::Exchange>& exchange);
  void to_worker_of_session(Asked asked, const std::shared_ptr<http::Exchange>& exchange,
                            const Workers::Refuse& refuse_it);
  void handle_here(Asked asked, const std::shared_ptr<http::Exchange>& exchange);
  http::Response no_worker(bool is_rest, const cluster::NoWorker& why);
  // The exchange by which to answer a POST, so that it can be asked again; null: it is answered, or
  // will be.
  std::shared_ptr<http::Exchange> remembered(const http::Request& request, bool is_rest,
                                             std::shared_ptr<http::Exchange> exchange);
  bool pass_on(const http::Request& request, const std::string& path, bool to_rest,
               const std::shared_ptr<http::Exchange>& exchange, cluster::Router::Hold& hold);
  http::Response refuse(bool is_rest, int status, std::string_view reason);

  Parts parts_;
  // Whether another cell asks this one about itself.
  bool is_of_peer(const http::Request& request) const;

  const Api api_;
  http::AnswerMemory answers_;
};

}  // namespace cloche::serve
