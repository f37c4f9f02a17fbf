// SPDX-License-Identifier: Apache-2.0
// ClientCall: one call of a command that the client serves: what passes between the process and the
// client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "cloche/host_command.h"
#include "doors/rpc/connection.h"

namespace cloche::rpc {

class ClientCall : public std::enable_shared_from_this<ClientCall> {
 public:
  // Output that the sandbox has not taken yet.
  static constexpr std::size_t unread_limit_bytes = std::size_t{1} << 20;
  // Input that the client has asked for and that has not come yet.
  static constexpr std::size_t wanted_limit_bytes = std::size_t{1} << 20;

  ClientCall(std::uint64_t number, ClientCommands& all) : number_(number), all_(all) {}
  ClientCall(const ClientCall&) = delete;
  ClientCall& operator=(const ClientCall&) = delete;

  std::uint64_t number() const noexcept { return number_; }

  // --- The client's side: any thread ---

  // EAGAIN over the limit; what a write before has failed with; ECANCELED: the call has ended.
  Result<void> write(Stream stream, std::string bytes);
  // Asks for so many bytes of input, `call.input`. EAGAIN over the limit.
  Result<void> want_input(std::size_t bytes);
  // Its end, once what was written is taken.
  void answer(Connection::Answer answer);

  // --- The process's side ---

  // From the question to the exit code, on the process's thread.
  int serve(CommandCall& process, const std::string& sandbox);

 private:
  struct Piece {
    Stream stream;
    std::string bytes;
    std::size_t taken = 0;
  };
  class Process;
  // Until it is answered and all is written: nothing where the process must end before.
  std::optional<int> pump(CommandCall& process);
  // The exit code, where there is nothing left to do; otherwise what it waits for.
  std::optional<int> next(CommandCall& process, CommandCall::Ready& wanted);
  int end(CommandCall& process, const Connection::Answer& answer,
          const Result<void>& written) const;
  Result<void> pass_output(CommandCall& process);
  Result<void> pass_input(CommandCall& process);
  void tell_taken(std::size_t bytes, bool is_all);

  const std::uint64_t number_;
  ClientCommands& all_;
  std::size_t untold_bytes_ = 0;  // taken, of which the client does not know yet

  Mutex mutex_;
  CommandCall* process_ GUARDED_BY(mutex_) = nullptr;
  bool ended_ GUARDED_BY(mutex_) = false;
  std::deque<Piece> output_ GUARDED_BY(mutex_);
  std::size_t output_bytes_ GUARDED_BY(mutex_) = 0;
  Result<void> written_ GUARDED_BY(mutex_);  // the first failure
  std::size_t wanted_input_ GUARDED_BY(mutex_) = 0;
  std::optional<Connection::Answer> answer_ GUARDED_BY(mutex_);
};

}  // namespace cloche::rpc
