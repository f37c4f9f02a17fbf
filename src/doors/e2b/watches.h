// SPDX-License-Identifier: Apache-2.0
// Watches: the folders of one sandbox that its clients watch. Some are told of changes by a stream,
// as they come; others ask now and then, and find what has come meanwhile.
//
// What nobody takes is bounded by the watch itself (FolderWatch), what a client does not read by
// its stream: while that has no room nothing is taken, and no thread waits. The streams of a
// sandbox are served one after the other, by one thread at most. Thread-safe. Calls wait for the
// sandbox.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "cloche/folder_watch.h"
#include "cloche/sandbox.h"
#include "doors/e2b/connect_wire.h"
#include "doors/e2b/event_stream.h"
#include "doors/e2b/message_list.h"
#include "session/session.h"
#include "session/timers.h"
#include "session/worker_pool.h"

namespace cloche::e2b {

struct WatchWish {
  std::string path;  // absolute
  WatchDepth depth = WatchDepth::folder;
  enum class Detail : std::uint8_t { names, entries } detail = Detail::names;
  Account account = Account::user;  // who must be able to read it
};

// A folder that is watched, and its changes as clients are told of them.
class WatchedFolder {
 public:
  static CallResult<std::shared_ptr<WatchedFolder>> make(std::shared_ptr<Sandbox> sandbox,
                                                         WatchWish wish,
                                                         std::function<void()> changed);

  // Since the last call. resource_exhausted: there were so many that they are lost.
  CallResult<MessageList> take();
  // The next one alone; null: there is none now. One caller at a time.
  CallResult<OrderedJson> next();
  bool is_over() const { return watch_->is_over(); }

 private:
  WatchedFolder(std::shared_ptr<Sandbox> sandbox, WatchWish wish)
      : sandbox_(std::move(sandbox)), wish_(std::move(wish)) {}
  CallResult<std::vector<FileChange>> changes();
  OrderedJson event_of(const FileChange& change) const;

  const std::shared_ptr<Sandbox> sandbox_;  // outlives the watch
  const WatchWish wish_;
  std::unique_ptr<FolderWatch> watch_;
  std::vector<FileChange> taken_;  // of which next() has told told_
  std::size_t told_ = 0;
};

class Watches : public std::enable_shared_from_this<Watches> {
 public:
  // Of a sandbox, of both kinds.
  static constexpr std::size_t watches_max = 16;

  // Both outlive it.
  Watches(session::WorkerPool& workers, session::Timers& timers)
      : workers_(workers), timers_(timers) {}
  ~Watches();
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  // Tells `stream` from now on, and ends it: with an error where the folder cannot be watched, or
  // when `limit` is over. None is left of a sandbox that is paused or ends meanwhile.
  void start(const session::Session::Use& use, WatchWish wish,
             const std::shared_ptr<EventStream>& stream,
             std::optional<std::chrono::milliseconds> limit);

  // For those that ask: its name; what has come since they asked last; the end of it.
  CallResult<std::string> create(const session::Session::Use& use, WatchWish wish);
  CallResult<MessageList> events(const std::string& name);
  CallResult<bool> remove(const std::string& name);

  // All streams end with that error.
  void end_streams(const CallError& why);
  // The same, and nothing is known of the other watches any more.
  void stop(const CallError& why);

 private:
  // One that has a stream.
  struct Told {
    std::shared_ptr<WatchedFolder> folder;
    std::shared_ptr<EventStream> stream;
    std::optional<session::Timers::Id> deadline;
    bool is_ready = false;  // and so in ready_
  };
  bool is_full() const REQUIRES(mutex_) { return told_.size() + asked_.size() >= watches_max; }
  // There may be something for that one, or it is over.
  void schedule(std::uint64_t number);
  void serve();
  enum class Left : std::uint8_t { nothing, more, over };
  static Left pass_on(const Told& told);
  void forget(std::uint64_t number, const std::optional<std::string>& last_frame);

  session::WorkerPool& workers_;
  session::Timers& timers_;
  Mutex mutex_;
  std::map<std::uint64_t, Told> told_ GUARDED_BY(mutex_);
  std::uint64_t last_ GUARDED_BY(mutex_) = 0;
  std::deque<std::uint64_t> ready_ GUARDED_BY(mutex_);
  bool is_serving_ GUARDED_BY(mutex_) = false;
  std::map<std::string, std::shared_ptr<WatchedFolder>> asked_ GUARDED_BY(mutex_);
};

}  // namespace cloche::e2b
