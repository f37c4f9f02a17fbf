// SPDX-License-Identifier: Apache-2.0
// InputPump: feeds a command's standard input from a descriptor of the host, on a thread of its
// own, until either side ends. Nothing is read from the descriptor before the command asks for
// input: one that never does leaves it to whoever reads next, as a program of the host would.
#pragma once

#include <thread>

#include "base/unique_fd.h"
#include "kernel/host/host_ports.h"

namespace cloche::sandbox {

class InputPump {
 public:
  // Reads `fd` (not closed here) into `pipe`, which outlives the pump. Throws HostError when the
  // host gives no descriptor or no thread.
  InputPump(int fd, kernel::HostPipe& pipe);
  // Stops, also when it waits for either side.
  ~InputPump();
  InputPump(const InputPump&) = delete;
  InputPump& operator=(const InputPump&) = delete;

 private:
  void run() noexcept;

  int fd_;
  kernel::HostPipe& pipe_;
  UniqueFd stop_;  // eventfd
  std::thread thread_;
};

}  // namespace cloche::sandbox
