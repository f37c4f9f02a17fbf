// SPDX-License-Identifier: Apache-2.0
#include "doors/rpc/client_commands.h"

#include <fmt/format.h>

#include "doors/rpc/client_call.h"
#include "doors/rpc/params.h"

namespace cloche::rpc {
namespace {

constexpr int status_cannot_execute = 126;

int complain(CommandCall& process, std::string_view what) {
  (void)process.write(Stream::err, fmt::format("{}: {}\n", process.name(), what));
  return status_cannot_execute;
}

}  // namespace

std::vector<HostCommand> ClientCommands::make(const Json& commands, const std::string& sandbox) {
  if (!commands.is_array())
    throw RpcError{code::invalid_params, "'commands' must be an array of objects"};
  std::vector<HostCommand> made;
  for (const Json& given : commands) {
    if (!given.is_object())
      throw RpcError{code::invalid_params, "'commands' must be an array of objects"};
    const Params about(given);
    made.push_back({.name = about.word("name"),
                    .description = about.optional_text("description").value_or(""),
                    .handler = [self = shared_from_this(), sandbox](CommandCall& process) {
                      return self->serve(process, sandbox);
                    }});
  }
  return made;
}

std::shared_ptr<ClientCall> ClientCommands::find(std::uint64_t number) const {
  const MutexLock lock(mutex_);
  const auto found = calls_.find(number);
  return found == calls_.end() ? nullptr : found->second;
}

int ClientCommands::serve(CommandCall& process, const std::string& sandbox) {
  if (is_detached())
    return complain(process, "its host has gone: give the sandbox its commands again");
  const std::shared_ptr<ClientCall> call = begin();
  if (!call) {
    return complain(
        process, fmt::format("the host serves {} calls already, as many as it may", calls_limit));
  }
  struct Removal {
    ClientCommands& all;
    std::uint64_t number;
    ~Removal() { all.remove(number); }
  };
  const Removal at_the_end{*this, call->number()};
  return call->serve(process, sandbox);
}

std::shared_ptr<ClientCall> ClientCommands::begin() {
  const MutexLock lock(mutex_);
  if (calls_.size() >= calls_limit) return nullptr;
  const std::uint64_t number = ++last_;
  return calls_.emplace(number, std::make_shared<ClientCall>(number, *this)).first->second;
}

void ClientCommands::remove(std::uint64_t number) {
  const MutexLock lock(mutex_);
  calls_.erase(number);
}

std::string ClientCommands::ask(Reply params, const std::shared_ptr<ClientCall>& call) {
  const ReadLock lock(connection_mutex_);
  if (connection_ == nullptr) {
    call->answer({false, "its host has gone", {}});
    return {};
  }
  return connection_->ask("command.invoke", std::move(params),
                          [call](Connection::Answer answer) { call->answer(std::move(answer)); });
}

void ClientCommands::forget(const std::string& question) {
  const ReadLock lock(connection_mutex_);
  if (connection_ != nullptr && !question.empty()) connection_->forget(question);
}

void ClientCommands::tell(std::string_view method, Reply params) {
  const ReadLock lock(connection_mutex_);
  if (connection_ != nullptr)
    connection_->sink().send(Sink::Kind::notice, server_message(method, std::move(params)));
}

bool ClientCommands::is_detached() {
  const ReadLock lock(connection_mutex_);
  return connection_ == nullptr;
}

void ClientCommands::detach() {
  const WriteLock lock(connection_mutex_);
  connection_ = nullptr;
}

}  // namespace cloche::rpc
