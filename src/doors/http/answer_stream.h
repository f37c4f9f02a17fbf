// SPDX-License-Identifier: Apache-2.0
// AnswerStream: the body of an answer that the application writes piece by piece, for as long as it
// takes.
//
// What has been written and not been read by the client is kept in memory: who writes looks at
// unsent_bytes, and waits for `changed` where that is enough. A client that reads nothing for the
// server's stall_timeout is gone.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace cloche::http {

struct StreamOptions {
  // Some of what was written has been sent, the client has gone, or somebody asked for the call.
  // Called on a thread of the server: it must not wait. It may still be called when the stream has
  // ended.
  std::function<void()> changed;
  // Sent by the server after each such time in which nothing was; 0: never.
  std::chrono::milliseconds silence{0};
  std::string pulse;
};

// Thread-safe. One that goes without an end is broken off.
class AnswerStream {
 public:
  virtual ~AnswerStream() = default;

  // Dropped after the end, and where the client has gone.
  virtual void write(std::string bytes) = 0;
  virtual void end() = 0;
  // The client sees that the body is not whole.
  virtual void break_off() = 0;
  // Has `changed` called soon. For who may neither wait nor write now.
  virtual void call_changed() = 0;
  virtual std::size_t unsent_bytes() const = 0;
  virtual bool gone() const = 0;
};

// What a connection and a stream on it share.
struct StreamState {
  explicit StreamState(StreamOptions its_options) : options(std::move(its_options)) {}
  const StreamOptions options;
  std::atomic<std::size_t> unsent_bytes = 0;
  std::atomic<bool> gone = false;
};

}  // namespace cloche::http
