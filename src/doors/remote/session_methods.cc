// SPDX-License-Identifier: Apache-2.0
// session.*, processes.*
#include <fmt/format.h>

#include <algorithm>

#include "doors/remote/methods.h"

namespace cloche::remote {
namespace {

using rpc::Call;
using rpc::Reply;
using rpc::RpcError;
using session::Session;

constexpr std::uint64_t page_usual = 50;
constexpr std::uint64_t page_max = 1000;
constexpr std::uint64_t forks_max = 100;

// Reports what cannot be done in this state, and what cannot be saved.
void check(const session::Change& change, const Session& session) {
  if (!change && !change.saved)
    throw rpc::sandbox_error(change.saved.error(), "the session cannot be paused: it runs on");
  if (!change) {
    throw RpcError{
        rpc::code::sandbox_error,
        fmt::format("EINVAL: session {} is not in a state for that", session.facts().id)};
  }
  if (!change.saved) throw rpc::sandbox_error(change.saved.error(), "the session is not saved");
}

}  // namespace

std::shared_ptr<Session> session_of(Call& call) {
  if (const auto id = call.params.optional_word("sessionId"))
    return find_session(backend_of(call), *id);
  return static_cast<SessionSubject&>(*call.subject()).session();
}

namespace sessions {

Reply list(Call& call) {
  const std::uint64_t limit =
      call.params.optional_count("limit", {.least = 1, .most = page_max}).value_or(page_usual);
  const std::uint64_t offset = call.params.optional_count("offset").value_or(0);
  const SessionBackend& backend = backend_of(call);
  const auto page = backend.parts().sessions.list(backend.owner(), limit, offset);
  Reply list = Reply::array();
  for (const auto& session : page.sessions) list.push_back(session_reply(*session));
  return {
      {"sessions", std::move(list)}, {"total", page.total}, {"limit", limit}, {"offset", offset}};
}

Reply pause(Call& call) {
  const auto session = session_of(call);
  check(backend_of(call).parts().sessions.pause(session), *session);
  return session_reply(*session);
}

Reply resume(Call& call) {
  const auto session = session_of(call);
  check(backend_of(call).parts().sessions.resume(session), *session);
  return session_reply(*session);
}

Reply remove(Call& call) {
  const auto session = session_of(call);
  const SessionBackend& backend = backend_of(call);
  check(backend.parts().sessions.close(session->facts().id, backend.owner()), *session);
  return session_reply(*session);
}

Reply extend(Call& call) {
  const auto session = session_of(call);
  check(backend_of(call).parts().sessions.extend(session, ttl_of(call.params)), *session);
  return session_reply(*session);
}

Reply fork(Call& call) {
  const std::uint64_t count = call.params.optional_count("count").value_or(1);
  if (count < 1 || count > forks_max) {
    throw RpcError{rpc::code::invalid_params, fmt::format("'count' must be 1 to {}", forks_max)};
  }
  auto made = backend_of(call).parts().sessions.fork(session_of(call), count);
  if (const auto* refusal = std::get_if<session::Refusal>(&made)) throw error_of(*refusal);
  Reply list = Reply::array();
  for (const auto& session : std::get<std::vector<std::shared_ptr<Session>>>(made))
    list.push_back(session_reply(*session));
  return {{"sessions", std::move(list)}};
}

Reply processes(Call& call) {
  Reply list = Reply::array();
  if (const auto sandbox = session_of(call)->sandbox()) {
    for (const ProcessInfo& process : sandbox->processes()) {
      const auto ms = [](std::chrono::nanoseconds time) {
        return std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
      };
      const auto started = std::chrono::system_clock::now().time_since_epoch() - process.age;
      list.push_back({{"pid", process.pid},
                      {"ppid", process.ppid},
                      {"command", process.command},
                      {"state", std::string(1, process.state)},
                      {"cpuMs", ms(process.cpu)},
                      {"memoryBytes", process.memory_bytes},
                      {"startedMs", ms(started)}});
    }
  }
  return {{"processes", std::move(list)}};
}

Reply signal(Call& call) {
  const auto number = [&](const char* name) {
    const auto value = call.params.optional_count(name);
    if (!value || *value > INT32_MAX) {
      throw RpcError{rpc::code::invalid_params, fmt::format("'{}' must be a number", name)};
    }
    return static_cast<int>(*value);
  };
  const int pid = number("pid");
  const int signal = number("signal");
  const Session::Use use = Session::use(session_of(call));
  if (!use) throw RpcError{rpc::code::sandbox_error, "ESRCH: the session is not running"};
  rpc::must(use->signal(pid, signal), fmt::format("process {}", pid));
  return rpc::ok();
}

}  // namespace sessions
}  // namespace cloche::remote
