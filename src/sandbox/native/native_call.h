// SPDX-License-Identifier: Apache-2.0
// NativeCall: the process of one call of a command of the host in a box, from the outside: a socket
// to the program of src/native/caller (warden/call_wire.h). A guest may be at the other end
// instead: what it says is taken as the bytes of its own call, and sense that it does not make ends
// the call.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "native/warden/call_wire.h"
#include "sandbox/command_process.h"

namespace cloche::sandbox {

// What the strings of all calls of a sandbox may take on the host.
class CallRoom {
 public:
  static constexpr std::size_t limit_bytes = 64 << 20;
  bool take(std::size_t bytes) noexcept;
  void give_back(std::size_t bytes) noexcept { taken_ -= bytes; }

 private:
  std::atomic<std::size_t> taken_ = 0;
};

class NativeCall final : public CommandProcess {
 public:
  // The socket blocks, and lives longer than this; who shuts it down ends the call. `room` too.
  NativeCall(int socket, CallRoom& room);
  ~NativeCall() override;
  NativeCall(const NativeCall&) = delete;
  NativeCall& operator=(const NativeCall&) = delete;

  // Reads how it was called. False: that makes no sense, or there is no room.
  bool begin();
  // Its end, with this status.
  void leave(int status);

  const std::vector<std::string>& argv() const override { return argv_; }
  const std::vector<std::string>& environment() const override { return environment_; }
  const std::string& directory() const override { return directory_; }
  Result<std::size_t> read(std::span<char> to) override;
  Result<void> write(Stream stream, std::string_view bytes) override;
  Result<CommandCall::Ready> wait(const CommandCall::Ready& wanted) override;
  void wake() override;

 private:
  bool send(const void* bytes, std::size_t size, int flags = 0) noexcept;
  bool ask(warden::CallOrder order, std::uint32_t number, std::uint32_t stream = 0,
           int flags = 0) noexcept;
  bool receive(void* bytes, std::size_t size) noexcept;
  // Between 0 and `most`, or an error; what is neither ends the call.
  Result<std::uint32_t> take_reply(std::uint32_t most) noexcept;
  Errno break_off() noexcept;

  const int socket_;
  CallRoom& room_;
  std::size_t taken_ = 0;
  UniqueFd wake_;  // eventfd
  std::vector<std::string> argv_;
  std::vector<std::string> environment_;
  std::string directory_;
};

}  // namespace cloche::sandbox
