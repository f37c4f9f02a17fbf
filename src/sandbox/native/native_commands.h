// SPDX-License-Identifier: Apache-2.0
// NativeCommands: the commands of the host in a box. Each has a file in it that executes the
// program of src/native/caller; that calls here, where a thread serves it for as long as it lives.
//
// Threads: every member may be called from any. One thread of its own accepts calls, once there are
// commands. Destroyed after the box has ended; that waits for the handlers.
#pragma once

#include <list>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/unique_fd.h"
#include "native/host/box.h"
#include "sandbox/backend.h"
#include "sandbox/host_commands.h"
#include "sandbox/native/native_call.h"

namespace cloche::sandbox {

class NativeCommands {
 public:
  // `commands` are those whose files are in the box already.
  NativeCommands(native::Box& box, std::vector<HostCommand> commands);
  ~NativeCommands();
  NativeCommands(const NativeCommands&) = delete;
  NativeCommands& operator=(const NativeCommands&) = delete;

  // As HostCommands::set. `files` are root's.
  void set(std::vector<HostCommand> commands, FileBackend& files);
  std::vector<HostCommand> list() const { return commands_.list(); }

 private:
  // More than are served at a time, so that one too many hears why; the rest stand in line.
  static constexpr std::size_t most_threads = HostCommands::calls_limit + 16;
  struct Call {
    UniqueFd socket;
    bool over = false;
    std::thread thread;
  };

  void listen() REQUIRES(set_mutex_);
  void accept_calls();
  void take_call();
  void serve(Call& call) noexcept;
  void bury(bool all);
  void ring() noexcept;

  native::Box& box_;
  HostCommands commands_;
  CallRoom room_;
  Mutex set_mutex_;    // one change at a time
  UniqueFd listener_;  // none: nobody has called for it yet
  UniqueFd wake_;      // eventfd: a call is over, or all is
  std::thread thread_;
  Mutex mutex_;
  std::list<Call> calls_ GUARDED_BY(mutex_);
  bool ending_ GUARDED_BY(mutex_) = false;
};

}  // namespace cloche::sandbox
