// SPDX-License-Identifier: Apache-2.0
// Agent: what answers at port 49983 of a sandbox: its processes and files, by the Connect protocol,
// and files up and down as they are.
//
// Who asks has shown the sandbox's token already. Thread-safe. Calls wait for the sandbox.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "doors/e2b/box.h"
#include "doors/e2b/connect_wire.h"
#include "doors/http/server.h"

namespace cloche::e2b {

// Whom a request to the agent acts for.
struct Actor {
  Account account = Account::user;
  std::string name;
  std::string home;
};

// From `Authorization: Basic`, or a name; `otherwise`, or the user, where there is neither.
// unauthenticated for an unknown one.
CallResult<Actor> actor_of(const http::Request& request, std::string_view otherwise = {});
CallResult<Actor> actor_named(std::string_view name);

// An absolute path: "~" and relative ones are below the actor's home.
CallResult<std::string> path_of(const Actor& actor, std::string_view path);

// One call that is in progress.
struct Call {
  BoxPtr box;
  session::Session::Use use;
  Actor actor;
  http::Request request;
  std::shared_ptr<http::Exchange> exchange;
};

// Answers what the agent of that sandbox is asked.
void ask_agent(const BoxPtr& box, session::Session::Use use, http::Request request,
               const std::shared_ptr<http::Exchange>& exchange);

// A method with one message in and one out, and its answer.
using Unary = CallResult<OrderedJson> (*)(const Call& call, const Json& message);
void answer_unary(Unary method, const Call& call);
// The same of one that writes its answer itself.
using UnaryText = CallResult<std::string> (*)(const Call& call, const Json& message);
void answer_unary(UnaryText method, const Call& call);

// The services, by the name of the method. They answer the exchange.
void call_process_service(std::string_view method, Call call);
void call_file_service(std::string_view method, Call call);

}  // namespace cloche::e2b
