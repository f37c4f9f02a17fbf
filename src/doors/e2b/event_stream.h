// SPDX-License-Identifier: Apache-2.0
// EventStream: the answer to a call that streams, to one client. Thread-safe.
//
// A client that reads too slowly slows down who sends for some seconds, then its stream ends: what
// happens in a sandbox never waits longer for it.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/mutex.h"
#include "doors/e2b/connect_wire.h"
#include "doors/http/server.h"

namespace cloche::e2b {

// What the messages of a stream look like.
struct StreamForm {
  std::string type;
  std::string pulse;     // goes out when nothing else does
  std::string too_slow;  // the last one for who reads too slowly; empty: the answer is broken off
};
// Of calls of the agent: of those that tell of a process, and of others.
StreamForm process_form();
StreamForm connect_form();

class EventStream {
 public:
  // Begins the answer. `silence`: how often a pulse goes out when nothing else does.
  static std::shared_ptr<EventStream> begin(http::Exchange& exchange, std::chrono::seconds silence,
                                            StreamForm form);

  // False when nobody gets it any more.
  bool send(const std::string& frame);
  // Whether send() would not wait. Where it would, `woken` is called once it does not any more.
  bool has_room();
  // The last frame; what comes after it is dropped.
  void end(const std::string& frame);
  // The client sees that there should have been more.
  void break_off();
  bool is_over() const;
  // Called once when the client leaves, or loses its answer as it reads too slowly; at once where
  // that has been. It must not wait.
  void on_leave(std::function<void()> leave);

  // Has `woken` called soon, while it is not over, on a thread of the server; several calls may
  // become one. For who may neither wait nor send where it is.
  void wake();
  void on_wake(std::function<void()> woken);

 private:
  explicit EventStream(StreamForm form) : form_(std::move(form)) {}
  void changed();

  const StreamForm form_;
  mutable Mutex mutex_;
  Condition changed_;
  std::shared_ptr<http::AnswerStream> answer_ GUARDED_BY(mutex_);  // null: it is over
  std::function<void()> leave_ GUARDED_BY(mutex_);
  std::function<void()> woken_ GUARDED_BY(mutex_);
  bool is_awake_ GUARDED_BY(mutex_) = false;
  bool awaits_room_ GUARDED_BY(mutex_) = false;
};

}  // namespace cloche::e2b
