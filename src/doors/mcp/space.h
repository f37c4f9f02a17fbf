// SPDX-License-Identifier: Apache-2.0
// Space: the names of sandboxes and snapshots that a client sees: a process's, a session's or a
// token's. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "doors/mcp/box.h"
#include "session/timers.h"

namespace cloche::mcp {

inline constexpr const char* default_name = "default";
inline constexpr std::size_t snapshot_limit = 64;

// [a-z0-9][a-z0-9._-]{0,62}
bool is_name(std::string_view text);

class Space : public std::enable_shared_from_this<Space> {
 public:
  // `owner`: whose sandboxes they are, for limits.
  explicit Space(session::Timers& timers, std::string owner = {})
      : timers_(timers), owner_(std::move(owner)) {}
  ~Space();
  Space(const Space&) = delete;
  Space& operator=(const Space&) = delete;

  const std::string& owner() const noexcept { return owner_; }

  std::shared_ptr<Box> find(const std::string& name) const;  // null: there is none
  std::vector<std::shared_ptr<Box>> all() const;             // by name
  // False where the name is taken, or the space was closed.
  bool add(std::shared_ptr<Box> box);
  // Takes it out and closes it; false where there is none.
  bool remove(const std::string& name);
  bool empty() const;
  // Closes all; takes no more.
  void close();

  // Of snapshots. Throws ToolError where there are too many, or the name is taken. `count` is given
  // back with it, as a box's.
  void save(const std::string& name, LiveSandbox live, std::shared_ptr<void> count);
  std::optional<LiveSandbox> snapshot(const std::string& name) const;
  bool drop(const std::string& name);
  std::vector<std::string> snapshots() const;

 private:
  void watch(const std::shared_ptr<Box>& box);

  session::Timers& timers_;
  const std::string owner_;
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<Box>> boxes_ GUARDED_BY(mutex_);
  struct Snapshot {
    std::shared_ptr<void> count;
    LiveSandbox live;
  };
  std::map<std::string, Snapshot> snapshots_ GUARDED_BY(mutex_);
  bool closed_ GUARDED_BY(mutex_) = false;
};

class Subscriptions;

// What one client works with: its own names, and those that outlive it. The two may be the same.
struct Scope {
  std::shared_ptr<Space> own;  // what has no name of its own
  std::shared_ptr<Space> named;
  std::shared_ptr<Subscriptions> subscriptions;  // of all that have the same names that outlive
  std::string owner;                             // of the token; empty where nobody is told apart

  std::shared_ptr<Box> find(const std::string& name) const;
  std::vector<std::shared_ptr<Box>> all() const;
  // PREFIX-1, PREFIX-2 ..., the first that is not taken.
  std::string free_name(const std::string& prefix) const;
  std::optional<LiveSandbox> snapshot(const std::string& name) const;
  std::vector<std::string> snapshots() const;
};

}  // namespace cloche::mcp
