// SPDX-License-Identifier: Apache-2.0
// LoopbackConnection: a TCP connection from outside to a program of a sandbox that listens on its
// loopback: what a forwarded port stands on.
//
//   auto connection = sandbox->connect(8000, [&] { wake(); });
//   if (connection) (void)(*connection)->write("GET / HTTP/1.0\r\n\r\n");
//
// Threads: every member may be called from any thread. Lifetime: it must be gone before its
// Sandbox.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>

#include "cloche/result.h"

namespace cloche {

class LoopbackConnection {
 public:
  ~LoopbackConnection();  // closes it
  LoopbackConnection(const LoopbackConnection&) = delete;
  LoopbackConnection& operator=(const LoopbackConnection&) = delete;

  // Takes what there is room for, without waiting: EAGAIN for none. EPIPE: the program does not
  // read any more, which is also said of no bytes.
  Result<std::size_t> write(std::string_view bytes);
  // What is there, without waiting: EAGAIN for nothing yet, 0 at the end. ECONNRESET: the program
  // left without reading everything.
  Result<std::size_t> read(std::span<char> to);
  // End of file for the program, which may go on writing.
  void close_input();

 private:
  friend class Sandbox;
  struct State;
  explicit LoopbackConnection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cloche
