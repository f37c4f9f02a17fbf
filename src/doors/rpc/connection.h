// SPDX-License-Identifier: Apache-2.0
// Connection: one client: its sandboxes, the requests it sent, and those that it is sent.
//
// Lines come in on one thread (`take`); answers go out from any. A request for a sandbox waits for
// its turn there; those of the table with Order::overtakes are served at once.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "doors/rpc/client_commands.h"
#include "doors/rpc/live_commands.h"
#include "doors/rpc/protocol.h"
#include "doors/rpc/sandbox_queue.h"
#include "doors/rpc/sink.h"
#include "doors/rpc/subject.h"
#include "session/worker_pool.h"

namespace cloche::rpc {

class Connection {
 public:
  // Both outlive it.
  Connection(Sink& sink, Backend& backend);
  // Cancels everything and waits for its end.
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Takes a line. Not thread-safe. Never throws.
  void take(std::string_view line) noexcept;
  // A line that could not be taken. `beginning`: of that line, where its id may be.
  void refuse(const RpcError& error, std::string_view beginning = {}) noexcept;
  // The client asked for the end.
  bool is_over() const noexcept { return over_; }
  // Answered all requests. False when that takes until `deadline`.
  bool wait_idle(std::chrono::steady_clock::time_point deadline);
  // Cancels everything; what is not answered at `deadline` goes on (false).
  bool stop(std::chrono::steady_clock::time_point deadline);

  // What methods use.
  Sink& sink() noexcept { return sink_; }
  Backend& backend() noexcept { return backend_; }
  Engine& engine() { return backend_.engine(*this); }
  LiveCommands& commands() noexcept { return commands_; }
  ClientCommands& client_commands() noexcept { return *client_commands_; }
  void finish() noexcept { over_ = true; }
  // From now on the client is told what takes long, as notifications.
  void want_progress() noexcept { progress_ = true; }
  void tell_progress(std::string_view line) noexcept;
  const std::shared_ptr<SandboxQueue>& main_queue() const noexcept { return main_; }
  // Both throw Error: ENOENT for a name that is none, EAGAIN for too many.
  std::shared_ptr<SandboxQueue> find_queue(const std::string& name) const;
  std::shared_ptr<SandboxQueue> add_queue();
  void remove_queue(const std::string& name);
  std::vector<std::shared_ptr<SandboxQueue>> queues() const;
  // The client's answer to a question of ours: its result, or its error's message.
  struct Answer {
    bool ok = false;
    std::string text;  // the result as JSON, or the message
    std::string kind;  // of an error: data.type, or empty
  };
  // Asks the client; `answered` is called once, on any thread, unless the question is forgotten
  // first. Gives its id; empty when it was answered at once, as the connection ends.
  std::string ask(std::string_view method, Reply params, std::function<void(Answer)> answered);
  void forget(const std::string& id);

 private:
  void dispatch(Json message, std::size_t bytes);
  bool take_answer(Json& message);
  bool fail_question(const std::string& id, std::string_view why);
  void serve(const struct Method& method, const std::shared_ptr<SandboxQueue>& queue,
             const Reply& id, const Json& params) noexcept;

  Sink& sink_;
  Backend& backend_;
  std::atomic<bool> over_ = false;
  std::atomic<bool> progress_ = false;
  std::atomic<std::size_t> held_bytes_ = 0;  // of requests that are not answered yet

  mutable Mutex mutex_;
  std::unordered_map<std::string, std::shared_ptr<SandboxQueue>> queues_ GUARDED_BY(mutex_);
  std::vector<std::string> order_ GUARDED_BY(mutex_);
  std::uint64_t last_sandbox_ GUARDED_BY(mutex_) = 0;
  std::unordered_map<std::string, std::function<void(Answer)>> asked_ GUARDED_BY(mutex_);
  std::uint64_t last_question_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;

  const std::shared_ptr<ClientCommands> client_commands_;  // handlers hold it, too
  std::shared_ptr<SandboxQueue> main_;
  session::WorkerPool pool_;  // what runs in it uses the rest, and
  LiveCommands commands_;     // is posted by these
};

}  // namespace cloche::rpc
