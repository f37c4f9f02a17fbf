// SPDX-License-Identifier: Apache-2.0
// commands.set, call.read, call.write: commands that the client serves, and their calls.
#include <fmt/format.h>

#include "doors/rpc/client_call.h"
#include "doors/rpc/client_commands.h"
#include "doors/rpc/methods.h"

namespace cloche::rpc::client_commands {
namespace {

std::shared_ptr<ClientCall> call_of(const Call& call) {
  const auto number = call.params.optional_count("call");
  if (!number) throw RpcError{code::invalid_params, "'call' is missing"};
  if (auto found = call.connection.client_commands().find(*number)) return found;
  throw request_error(fmt::format("call {} has ended", *number), Errno::canceled);
}

Stream stream_of(const Params& params) {
  const std::string name = params.optional_text("stream").value_or("stdout");
  if (name != "stdout" && name != "stderr")
    throw RpcError{code::invalid_params, "'stream' must be \"stdout\" or \"stderr\""};
  return name == "stdout" ? Stream::out : Stream::err;
}

}  // namespace

void give(Connection& connection, SandboxQueue& queue, Subject& subject, const Json& commands) {
  subject.live().sandbox->set_commands(connection.client_commands().make(commands, queue.name()));
  queue.set_commands(commands);
}

Reply set(Call& call) {
  const Json* commands = call.params.find("commands");
  if (commands == nullptr) throw RpcError{code::invalid_params, "'commands' is missing"};
  give(call.connection, *call.queue, *call.subject(), *commands);
  return ok();
}

Reply read(Call& call) {
  constexpr std::uint64_t usual = 64 << 10;
  must(call_of(call)->want_input(call.params.optional_count("bytes").value_or(usual)),
       "the call's input");
  return ok();
}

Reply write(Call& call) {
  must(call_of(call)->write(stream_of(call.params), call.params.bytes("data")),
       "the call's output");
  return ok();
}

}  // namespace cloche::rpc::client_commands
