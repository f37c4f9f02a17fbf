// SPDX-License-Identifier: Apache-2.0
// EventStream: the answer to a call that streams, to one client. Thread-safe.
//
// A client that reads too slowly slows down who sends for some seconds, then its stream ends with
// resource_exhausted: what happens in a sandbox never waits longer for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "doors/e2b/connect_wire.h"
#include "doors/http/server.h"

namespace cloche::e2b {

class EventStream {
 public:
  // Begins the answer. `silence`: how often a keepalive event goes out when nothing else does.
  static std::shared_ptr<EventStream> begin(http::Exchange& exchange, std::chrono::seconds silence);

  // False when nobody gets it any more.
  bool send(const std::string& frame);
  // The last frame; what comes after it is dropped.
  void end(const std::string& frame);
  bool is_over() const;
  // Called once when the client leaves; at once where it has left. It must not wait.
  void on_leave(std::function<void()> leave);

 private:
  EventStream() = default;
  void changed();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<http::AnswerStream> answer_;  // null: it is over
  std::function<void()> leave_;
};

}  // namespace cloche::e2b
