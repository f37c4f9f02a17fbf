// SPDX-License-Identifier: Apache-2.0
// ClientCommands: the commands that the client of a connection serves in its sandboxes, and their
// calls that are in progress: command.invoke, call.*.
//
// A call is a process of the sandbox, on whose thread it is served. Both directions are bounded by
// who takes the bytes: input is sent when the client asks for some, and of output so much waits
// for its reader and no more.
//
// Thread-safe. The handlers that it makes belong to sandboxes, which may outlive the connection:
// from detach() on they say that nobody serves the command.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "cloche/host_command.h"
#include "doors/rpc/protocol.h"

namespace cloche::rpc {

class ClientCall;
class Connection;

class ClientCommands : public std::enable_shared_from_this<ClientCommands> {
 public:
  static constexpr std::size_t calls_limit = 1024;  // at once

  explicit ClientCommands(Connection& connection) : connection_(&connection) {}
  ClientCommands(const ClientCommands&) = delete;
  ClientCommands& operator=(const ClientCommands&) = delete;

  // The commands that `commands` of a request's parameters names, for the sandbox that the client
  // knows by that name. Throws RpcError.
  std::vector<HostCommand> make(const Json& commands, const std::string& sandbox);

  // Null: there is none, or it has ended.
  std::shared_ptr<ClientCall> find(std::uint64_t number) const;

  // Nothing is sent any more when it has returned. What waits for the client ends.
  void detach();

 private:
  friend class ClientCall;
  int serve(CommandCall& process, const std::string& sandbox);
  // Null: there are too many.
  std::shared_ptr<ClientCall> begin();
  void remove(std::uint64_t number);
  bool is_detached();
  // For calls. `ask` gives the question's id, empty where it was answered at once.
  std::string ask(Reply params, const std::shared_ptr<ClientCall>& call);
  void forget(const std::string& question);
  void tell(std::string_view method, Reply params);

  SharedMutex connection_mutex_;  // held while something is sent
  Connection* connection_ GUARDED_BY(connection_mutex_);
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<ClientCall>> calls_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
};

}  // namespace cloche::rpc
