// SPDX-License-Identifier: Apache-2.0
// LiveCommands: commands of a connection that it talks with while they run: command.*
//
// Thread-safe. The destructor ends them.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "cloche/live_run.h"
#include "doors/rpc/sink.h"
#include "doors/rpc/subject.h"
#include "session/worker_pool.h"

namespace cloche::rpc {

class LiveCommand;

// Of a command for which the host had too little.
RunResult not_started(const std::exception& problem);
// What it has done does not survive the server: no success is told.
void note_not_saved(RunResult& result, Errno why);

class LiveCommands {
 public:
  static constexpr std::size_t limit = 256;

  // Both outlive it.
  LiveCommands(Sink& sink, session::WorkerPool& pool) : sink_(sink), pool_(pool) {}
  ~LiveCommands();
  LiveCommands(const LiveCommands&) = delete;
  LiveCommands& operator=(const LiveCommands&) = delete;

  // One that has yet to be started, in the sandbox of `subject`; what is written to it before
  // waits. Throws RpcError: too many.
  std::shared_ptr<LiveCommand> add(LiveSandbox live, std::shared_ptr<Subject> subject);
  // Null: there is none, or it has ended.
  std::shared_ptr<LiveCommand> find(std::uint64_t number) const;
  // It has ended: what it has done is kept before that is told.
  void end(std::uint64_t number, const RunResult& result);
  // Those of a sandbox end.
  void stop_in(const Sandbox& sandbox);
  // All end.
  void stop();

 private:
  Sink& sink_;
  session::WorkerPool& pool_;
  mutable Mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<LiveCommand>> commands_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  bool stopping_ GUARDED_BY(mutex_) = false;
};

class LiveCommand {
 public:
  static constexpr std::size_t unread_limit_bytes = std::size_t{16} << 20;

  LiveCommand(std::uint64_t number, LiveSandbox live, std::shared_ptr<Subject> subject,
              LiveCommands& all, Sink& sink);
  ~LiveCommand();
  LiveCommand(const LiveCommand&) = delete;
  LiveCommand& operator=(const LiveCommand&) = delete;

  std::uint64_t number() const noexcept { return number_; }
  bool is_in(const Sandbox& sandbox) const noexcept { return sandbox_.sandbox.get() == &sandbox; }

  // What it prints, and its end, are told to the client from now on.
  void start(LiveRunOptions options);
  // Its standard input: EAGAIN where it leaves too much unread, EPIPE where nobody reads it.
  Result<void> write(std::string_view bytes);
  void end_input();
  Result<void> signal(int number);

 private:
  friend class LiveCommands;
  void print(Stream stream, std::string_view data);
  void tell_end(RunResult result);
  // Under mutex_.
  void pass_on() REQUIRES(mutex_);
  Result<void> give(int signal);

  const std::uint64_t number_;
  LiveSandbox sandbox_;
  const std::shared_ptr<Subject> subject_;
  LiveCommands& all_;
  Sink& sink_;

  Mutex mutex_;
  std::string unread_ GUARDED_BY(mutex_);
  bool input_ended_ GUARDED_BY(mutex_) = false;
  bool end_told_ GUARDED_BY(mutex_) = false;
  int early_signal_ GUARDED_BY(mutex_) = 0;  // given before it was started
  struct Texts;
  std::unique_ptr<Texts> texts_;

  std::unique_ptr<LiveRun> live_;  // goes first: its callbacks use the rest
};

}  // namespace cloche::rpc
