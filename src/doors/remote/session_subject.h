// SPDX-License-Identifier: Apache-2.0
// SessionSubject: a session, as a connection uses it; SessionBackend: how a connection comes to
// one.
#pragma once

#include <memory>
#include <string>

#include "doors/remote/parts.h"
#include "doors/rpc/subject.h"

namespace cloche::remote {

class Client;

class SessionSubject final : public rpc::Subject {
 public:
  // What becomes of the session when the connection, or its part in it, ends.
  enum class End : std::uint8_t {
    stays,      // it was there before, or is to outlive the connection
    destroyed,  // only by request
    ephemeral,  // it ends in any case
  };
  SessionSubject(session::SessionManager& sessions, std::shared_ptr<session::Session> session,
                 End end)
      : sessions_(sessions), session_(std::move(session)), end_(end) {}
  ~SessionSubject() override;
  SessionSubject(const SessionSubject&) = delete;
  SessionSubject& operator=(const SessionSubject&) = delete;

  const std::shared_ptr<session::Session>& session() const noexcept { return session_; }

  End end() const noexcept { return end_; }

  rpc::LiveSandbox live() override;
  void replace(rpc::LiveSandbox live) override;
  void cancel(rpc::Runs runs) override;
  TimedMutex& python_turn() override { return session_->python_turn(); }
  Result<void> keep() override;
  void keep_soon() override { sessions_.save_soon(session_); }
  void destroy() override;

 private:
  session::Session::Use use() const;

  session::SessionManager& sessions_;
  const std::shared_ptr<session::Session> session_;
  const End end_;
};

class SessionBackend final : public rpc::Backend {
 public:
  SessionBackend(const Parts& parts, std::string owner, Client& client)
      : parts_(parts), owner_(std::move(owner)), client_(client) {}

  const Parts& parts() const noexcept { return parts_; }
  const std::string& owner() const noexcept { return owner_; }
  Client& client() noexcept { return client_; }

  Made create(rpc::Connection& connection, const rpc::Params& params) override;
  Made fork(rpc::Subject& subject) override;
  Engine& engine(rpc::Connection&) override { return parts_.engine; }
  void admit_host_path(std::string_view parameter) const override;
  const rpc::Method* find_method(std::string_view name) const override;
  std::size_t sandbox_limit() const override { return 256; }
  void admit_snapshot() const override;

 private:
  const Parts& parts_;
  const std::string owner_;
  Client& client_;
};

// Throws RpcError where the owner has no such session.
std::shared_ptr<session::Session> find_session(const SessionBackend& backend,
                                               const std::string& id);
// Why there is no session, as an error.
rpc::RpcError error_of(const session::Refusal& refusal);
// As `session.list` tells it.
rpc::Reply session_reply(const session::Session& session);

}  // namespace cloche::remote
