// SPDX-License-Identifier: Apache-2.0
// Application: which door a request belongs to, and what all doors share: figures and the log of
// requests.
#pragma once

#include "cluster/router.h"
#include "doors/http/answer_memory.h"
#include "doors/http/log.h"
#include "doors/http/metrics.h"
#include "doors/http/origin_guard.h"
#include "doors/http/server.h"
#include "doors/mcp/http_door.h"
#include "doors/remote/remote_door.h"
#include "doors/rest/rest_door.h"
#include "doors/serve/options.h"
#include "doors/steps/step_door.h"

namespace cloche::serve {

class Application final : public http::Application {
 public:
  // All of them outlive it.
  struct Parts {
    steps::StepDoor& steps;
    rest::RestDoor& rest;
    mcp::HttpDoor& mcp;
    remote::RemoteDoor& remote;
    http::Metrics& metrics;
    http::Log& log;
    const http::OriginGuard& guard;
    const http::TokenStore& tokens;
    cluster::Router* router = nullptr;         // null: there are no other cells
    std::function<std::string()> report = {};  // what this cell says of itself to them
  };
  Application(Parts parts, Api api) : parts_(std::move(parts)), api_(api) {}

  http::Admission admit(const http::Request& head) override;
  void handle(http::Request request, std::shared_ptr<http::Exchange> exchange) override;
  http::Response reject(int status, std::string_view reason) override;

 private:
  // The path for the REST door where the request is its own.
  bool is_rest(const std::string& path, std::string& rest_path) const;
  bool is_remote(std::string_view path) const {
    return api_ == Api::sessions && path == remote::RemoteDoor::path;
  }
  http::Admission admit_known(const http::Request& head);
  http::Admission admit_remote(const http::Request& head);
  bool pass_on(const http::Request& request, const std::string& path, bool to_rest,
               const std::shared_ptr<http::Exchange>& exchange);
  http::Response refuse(bool is_rest, int status, std::string_view reason);

  Parts parts_;
  const Api api_;
  http::AnswerMemory answers_;
};

}  // namespace cloche::serve
