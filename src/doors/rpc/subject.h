// SPDX-License-Identifier: Apache-2.0
// Subject: the sandbox that requests are about, wherever it is; Backend: how a connection comes to
// one. `cloche rpc` makes sandboxes of its own, a server has sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "base/timed_mutex.h"
#include "cloche/engine.h"
#include "doors/rpc/params.h"
#include "doors/rpc/protocol.h"
#include "sandbox/live_sandbox.h"

namespace cloche::rpc {

class Connection;
struct Method;

using sandbox::LiveSandbox;

// What a request runs, and so what cancelling it does besides asking its stop token.
enum class Runs : std::uint8_t {
  commands,   // nothing: they end by the token
  python,     // the code that it has Python run is stopped; names are kept
  processes,  // they have no token: all processes end, where nobody else has the sandbox
};

// Thread-safe.
class Subject {
 public:
  virtual ~Subject() = default;

  // For one request; throws RpcError where it cannot be had now.
  virtual LiveSandbox live() = 0;
  // From now on it is this one; what runs in the one before ends. Throws RpcError.
  virtual void replace(LiveSandbox live) = 0;
  // Stops what a request runs, besides by the stop token of its own.
  virtual void cancel(Runs runs) = 0;
  // Held while Python code is executed.
  virtual TimedMutex& python_turn() = 0;
  // Something was done of which the client is told now: what must last is kept.
  virtual Result<void> keep() { return {}; }
  // Something goes on of which nobody is told when it is done, such as what is said to a shell.
  virtual void keep_soon() {}
  // The sandbox must end, by request.
  virtual void destroy() {}
};

class Backend {
 public:
  virtual ~Backend() = default;

  struct Made {
    std::shared_ptr<Subject> subject;
    Reply facts = Reply::object();  // that the answer has besides
  };
  // As the parameters of `create` ask for it. Throws RpcError.
  virtual Made create(Connection& connection, const Params& params) = 0;
  virtual Made fork(Subject& subject) = 0;
  virtual Engine& engine(Connection& connection) = 0;
  // Throws RpcError where the client may not name files and folders of this machine.
  virtual void admit_host_path(std::string_view parameter) const = 0;
  // Besides those of every connection; null where there is none of that name.
  virtual const Method* find_method(std::string_view name) const = 0;
  virtual std::size_t sandbox_limit() const = 0;
  // Throws RpcError where there is no room for what a snapshot keeps.
  virtual void admit_snapshot() const = 0;
};

}  // namespace cloche::rpc
