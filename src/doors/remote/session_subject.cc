// SPDX-License-Identifier: Apache-2.0
#include "doors/remote/session_subject.h"

#include <fmt/format.h>

#include <algorithm>

#include "doors/http/date.h"
#include "doors/remote/methods.h"
#include "doors/rpc/methods.h"
#include "sandbox/options/option_json.h"

namespace cloche::remote {
namespace {

using rpc::RpcError;
using session::Session;
using session::Status;

constexpr std::uint64_t ttl_min_s = 60;
constexpr std::uint64_t ttl_max_s = 28'800;
constexpr std::uint64_t ttl_usual_s = 3600;
constexpr std::size_t metadata_limit_bytes = 16 << 10;

std::string metadata_of(const rpc::Params& params) {
  const rpc::Json* given = params.find("metadata");
  if (given == nullptr) return "{}";
  if (!given->is_object())
    throw RpcError{rpc::code::invalid_params, "'metadata' must be an object"};
  std::string text = given->dump();
  if (text.size() > metadata_limit_bytes) {
    throw RpcError{rpc::code::invalid_params,
                   fmt::format("'metadata' has more than {} bytes", metadata_limit_bytes)};
  }
  return text;
}

const char* name_of(Status status) {
  switch (status) {
    case Status::running: return "running";
    case Status::paused: return "paused";
    case Status::failed: return "failed";
    case Status::closed: return "closed";
  }
  return "closed";
}

RpcError none_with(std::string_view id) {
  return {rpc::code::sandbox_error,
          fmt::format("ENOENT: there is no session '{}'", id.substr(0, 100)),
          rpc::reason::no_session};
}

}  // namespace

std::chrono::seconds ttl_of(const rpc::Params& params) {
  const std::uint64_t ttl_s = params.optional_count("ttl").value_or(ttl_usual_s);
  if (ttl_s < ttl_min_s || ttl_s > ttl_max_s) {
    throw RpcError{rpc::code::invalid_params,
                   fmt::format("'ttl' must be {} to {} seconds", ttl_min_s, ttl_max_s)};
  }
  return std::chrono::seconds(ttl_s);
}

std::shared_ptr<Session> find_session(const SessionBackend& backend, const std::string& id) {
  std::shared_ptr<Session> session = backend.parts().sessions.find(id, backend.owner());
  if (!session) throw none_with(id);
  return session;
}

RpcError error_of(const session::Refusal& refusal) {
  if (refusal.error) return rpc::rpc_error(*refusal.error);
  return {rpc::code::sandbox_error, "EAGAIN: " + refusal.sentence};
}

rpc::Reply session_reply(const Session& session) {
  const session::Facts& facts = session.facts();
  const auto time = [](session::WallTime when) {
    return when == session::WallTime::max() ? rpc::Reply(nullptr)
                                            : rpc::Reply(http::iso_timestamp(when));
  };
  rpc::Reply reply{
      {"sessionId", facts.id},
      {"status", name_of(session.status())},
      {"createdAt", time(facts.created)},
      {"expiresAt", time(session.expires())},
      {"lastActivityAt", time(session.last_activity())},
      {"metadata", rpc::Reply::parse(facts.metadata, nullptr, false)},
      {"image", facts.image},
      {"parent", facts.parent.empty() ? rpc::Reply(nullptr) : rpc::Reply(facts.parent)},
      {"door", facts.door},
      {"owner", facts.owner}};
  if (reply["metadata"].is_discarded()) reply["metadata"] = rpc::Reply::object();
  if (session.status() == Status::failed) reply["reason"] = session.trouble();
  SandboxUsage usage;
  if (const auto sandbox = session.sandbox()) usage = sandbox->usage();
  reply["memoryBytes"] = usage.memory_bytes;
  reply["fileBytes"] = usage.file_bytes;
  reply["processes"] = usage.processes;
  reply["cpuMs"] = std::chrono::duration_cast<std::chrono::milliseconds>(usage.cpu).count();
  return reply;
}

// --- SessionSubject -------------------------------------------------------------------------------

SessionSubject::~SessionSubject() {
  if (end_ == End::ephemeral) (void)sessions_.close(session_->facts().id, session_->facts().owner);
}

Session::Use SessionSubject::use() const {
  Session::Use use = Session::use(session_);
  if (use) return use;
  const std::string& id = session_->facts().id;
  if (std::string trouble = session_->trouble(); !trouble.empty())
    throw RpcError{rpc::code::sandbox_error, "EIO: " + trouble};
  if (session_->status() == Status::paused) {
    throw RpcError{rpc::code::sandbox_error,
                   fmt::format("EAGAIN: session {} is paused: resume it first", id)};
  }
  throw none_with(id);
}

rpc::LiveSandbox SessionSubject::live() {
  auto held = std::make_shared<Session::Use>(use());
  rpc::LiveSandbox live;
  live.python = held->python();
  Sandbox* sandbox = &**held;
  live.sandbox = std::shared_ptr<Sandbox>(std::move(held), sandbox);
  return live;
}

void SessionSubject::replace(rpc::LiveSandbox live) {
  if (!use().replace(std::move(live.sandbox), std::move(live.python)))
    throw none_with(session_->facts().id);
}

// A command ends by the token of its own run: others use this sandbox too.
void SessionSubject::cancel(rpc::Runs runs) {
  if (runs != rpc::Runs::python) return;
  if (const auto python = session_->made_python()) python->cancel();
}

Result<void> SessionSubject::keep() { return sessions_.save(session_); }

void SessionSubject::destroy() {
  if (end_ != End::stays) (void)sessions_.close(session_->facts().id, session_->facts().owner);
}

// --- SessionBackend -----------------------------------------------------------------------------

void SessionBackend::admit_host_path(std::string_view parameter) const {
  throw RpcError{rpc::code::sandbox_error,
                 fmt::format("EACCES: '{}' is of the server's machine, which its clients may not "
                             "name: send the data itself",
                             parameter)};
}

void SessionBackend::admit_snapshot() const {
  if (!parts_.sessions.room().is_over_memory()) return;
  throw RpcError{rpc::code::sandbox_error,
                 "EAGAIN: the server has no memory for a snapshot: remove others, or try again"};
}

rpc::Backend::Made SessionBackend::create(rpc::Connection&, const rpc::Params& params) {
  if (const auto id = params.optional_word("sessionId")) {
    std::shared_ptr<Session> there = find_session(*this, *id);
    return {std::make_shared<SessionSubject>(parts_.sessions, std::move(there),
                                             SessionSubject::End::stays),
            {{"sessionId", *id}}};
  }
  if (const std::string why = parts_.not_ready(); !why.empty())
    throw RpcError{rpc::code::sandbox_error, "EAGAIN: " + why};
  const Json wish = sandbox::option_members(params.all());
  session::SessionRequest request{
      .owner = owner_,
      .ttl = ttl_of(params),
      .metadata = metadata_of(params),
      .image = {},
      .ssh_public_key = {},
      .door = "rpc",
      .wish = wish.empty() ? std::string() : write_json(wish),
      .sandbox = parts_.sessions.options_for(wish, sandbox::Beyond::amounts_cut)};
  auto made = parts_.sessions.create(request);
  if (const auto* refusal = std::get_if<session::Refusal>(&made)) throw error_of(*refusal);
  auto session = std::get<std::shared_ptr<Session>>(std::move(made));
  rpc::Reply facts{{"sessionId", session->facts().id}};
  const auto end =
      params.flag("ephemeral") ? SessionSubject::End::ephemeral : SessionSubject::End::destroyed;
  return {std::make_shared<SessionSubject>(parts_.sessions, std::move(session), end),
          std::move(facts)};
}

rpc::Backend::Made SessionBackend::fork(rpc::Subject& subject) {
  auto& of = static_cast<SessionSubject&>(subject);
  auto made = parts_.sessions.fork(of.session(), 1);
  if (const auto* refusal = std::get_if<session::Refusal>(&made)) throw error_of(*refusal);
  auto session = std::get<std::vector<std::shared_ptr<Session>>>(std::move(made)).front();
  rpc::Reply facts{{"sessionId", session->facts().id}};
  return {std::make_shared<SessionSubject>(parts_.sessions, std::move(session),
                                           of.end() == SessionSubject::End::ephemeral
                                               ? SessionSubject::End::ephemeral
                                               : SessionSubject::End::destroyed),
          std::move(facts)};
}

const rpc::Method* SessionBackend::find_method(std::string_view name) const {
  return remote::find_method(name);
}

}  // namespace cloche::remote
