// SPDX-License-Identifier: Apache-2.0
// ToolConnection: one run of a tool server, spoken to by JSON-RPC, a message a line: it shakes
// hands, and passes questions and answers.
//
// The server is trusted to run on this machine and with nothing else: what it sends is bounded, and
// one that breaks the protocol, floods, or does not read is ended. Then, and when it ends by
// itself, every question is answered with a sentence that says so.
//
// Thread-safe. It has one thread, which calls what answers are for.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/result.h"
#include "doors/mcp/mount/tool_spawner.h"

namespace cloche::mcp::mount {

class ToolConnection {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t message_limit_bytes = std::size_t{8} << 20;
  static constexpr std::size_t unread_limit_bytes = std::size_t{16}
                                                    << 20;  // that it leaves in the pipe
  static constexpr std::size_t unasked_limit_bytes = std::size_t{64} << 20;  // between two answers
  static constexpr std::size_t open_limit = 32;                              // questions at once
  static constexpr std::chrono::seconds handshake_limit{30};

  // The result, or why there is none, in one sentence.
  using Outcome = Result<OrderedJson, Error>;
  // Called once, on the connection's thread, or in ask(); does not call back, and does not throw.
  using Done = std::function<void(Outcome)>;

  // To the program that was started for the server of that name. Throws HostError.
  ToolConnection(std::string name, ToolRun program);
  ~ToolConnection();  // not on its own thread; ends the program
  ToolConnection(const ToolConnection&) = delete;
  ToolConnection& operator=(const ToolConnection&) = delete;

  // It need not have shaken hands yet. Gives the question's number.
  std::uint64_t ask(std::string_view method, OrderedJson params, std::chrono::milliseconds limit,
                    Done done);
  // Nobody waits for the answer any more: the server is told so.
  void forget(std::uint64_t number);
  // Nothing comes of it any more.
  bool is_over() const;

 private:
  struct Question {
    Done done;
    Clock::time_point deadline;
    std::chrono::milliseconds limit;
  };
  using Ended = std::pair<Done, Outcome>;

  void run();
  void wait_for_work();
  bool read_some();  // false: it has ended, or broke a rule
  bool write_some();
  void take_line(std::string_view line);
  void take_answer(std::uint64_t number, const OrderedJson& message);
  void take_unreadable(std::string_view line);
  void greet(const Outcome& outcome);
  void end_late();
  void end_all(const std::string& why);
  void send(const OrderedJson& message) REQUIRES(mutex_);
  void send_question(std::uint64_t number, std::string_view method, OrderedJson params)
      REQUIRES(mutex_);
  void wake() const;
  std::string named(std::string_view what) const;

  const std::string name_;
  ToolRun program_;
  const UniqueFd woken_;  // an eventfd

  // Of its thread.
  std::string buffer_;
  std::size_t unasked_bytes_ = 0;
  std::string writing_;
  std::size_t written_ = 0;

  mutable Mutex mutex_;
  std::map<std::uint64_t, Question> open_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::uint64_t greeting_ = 0;
  std::deque<std::string> held_ GUARDED_BY(mutex_);  // questions, until hands are shaken
  bool is_greeted_ GUARDED_BY(mutex_) = false;
  std::string unwritten_ GUARDED_BY(mutex_);
  std::string over_ GUARDED_BY(mutex_);  // why nothing comes any more; empty: it is not over
  bool stopping_ GUARDED_BY(mutex_) = false;

  std::thread thread_;  // the last: it uses the others
};

}  // namespace cloche::mcp::mount
