// SPDX-License-Identifier: Apache-2.0
// Boxes: all sandboxes of this door, what they are made of (templates and snapshots), and when they
// end. Thread-safe.
//
// Each is a session of the SessionManager, so the limits of all doors hold for it; it is not saved,
// and ends with the server.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "cloche/engine.h"
#include "doors/e2b/box.h"
#include "doors/e2b/box_base.h"
#include "doors/e2b/port_relays.h"
#include "session/session_manager.h"
#include "session/worker_pool.h"

namespace cloche::e2b {

struct Snapshot {
  std::string id;
  std::string owner;
  std::vector<std::string> names;
  std::string box_id;
  std::uint64_t sequence = 0;
  std::shared_ptr<Sandbox> sandbox;
  std::map<std::string, std::string> environment;
  BoxStart start;
  bool is_template = false;  // it is no snapshot for who lists them
};

// Why something was not done: a status of HTTP and a sentence.
struct Denial {
  int status;
  std::string sentence;
};

class Boxes {
 public:
  // All of them outlive it.
  Boxes(Engine& engine, session::SessionManager& sessions, session::WorkerPool& workers,
        SandboxOptions options, std::vector<sandbox::Grant> grants, TemplateImages images);

  // What they all have, and what else their clients may ask for.
  const SandboxOptions& options() const noexcept { return options_; }
  const std::vector<sandbox::Grant>& grants() const noexcept { return grants_; }

  // Whether there is such a template, for that owner: its name without a tag; empty: there is none.
  std::string template_name(const std::string& owner, const std::string& id) const;

  std::variant<BoxPtr, Denial> create(const std::string& owner, BoxWish wish);
  // Up to `count` sandboxes that go on from here; processes are not in them.
  std::vector<std::variant<BoxPtr, Denial>> fork(const BoxPtr& box, std::size_t count,
                                                 Seconds timeout);

  // Null when there is none, or it belongs to somebody else.
  BoxPtr find(const std::string& id, const std::string& owner) const;
  BoxPtr find_any(const std::string& id) const;
  // Live ones of that owner, in the order of their start.
  std::vector<BoxPtr> list(const std::string& owner) const;
  // All of them.
  std::vector<BoxPtr> all() const;

  bool close(const std::string& id, const std::string& owner);
  // Not done where it is not running, or cannot be paused: then with the error.
  session::Change pause(const BoxPtr& box, session::SessionManager::Processes processes);
  // False where it is running.
  bool resume(const BoxPtr& box, Seconds timeout);
  enum class Change : std::uint8_t { set, lengthen };
  void set_timeout(const BoxPtr& box, Seconds timeout, Change change);
  // What of the network it may reach from now on. It waits for nothing.
  std::optional<Denial> set_network(const BoxPtr& box, NetworkWish wish);

  std::variant<Snapshot, Denial> snapshot(const BoxPtr& box, const std::string& name);
  // The same of a sandbox in which a template was built.
  std::variant<Snapshot, Denial> take_template(const BoxPtr& box, const BoxStart& start);
  std::vector<Snapshot> snapshots(const std::string& owner) const;  // the newest first
  bool remove_snapshot(const std::string& owner, const std::string& id);

  // For the SessionManager: a deadline that has come; and what runs in a session is about to end.
  bool came_due(const std::shared_ptr<session::Session>& session);
  void stopping(const session::Session& session);
  // A session has gone.
  void forget(const std::string& id);
  // Connections to servers inside.
  PortRelays& relays() noexcept { return relays_; }
  // After the sessions' end: what they ran has ended too, and has told so.
  void wait_for_end() { process_count_->wait_for_none(); }

 private:
  // False where it has not failed.
  bool close_failed(const BoxPtr& box) const;
  session::Change pause_in_turn(const BoxPtr& box, session::SessionManager::Processes processes)
      REQUIRES(box->turn);
  // Of a template of the operator's, or of the usual ones.
  std::shared_ptr<Sandbox> base(const std::string& template_id);
  std::variant<BoxPtr, Denial> make(const std::string& owner, BoxWish wish, Sandbox& from,
                                    const BoxStart& start);
  // Without a session yet.
  BoxPtr new_box(const std::string& owner, BoxWish wish, const BoxStart& start);
  // Why nothing more is kept in memory now.
  std::optional<Denial> no_memory() const;
  std::variant<Snapshot, Denial> keep(Snapshot snapshot, const std::string& name);
  const Snapshot* find_snapshot(const std::string& owner, const std::string& id) const
      REQUIRES(mutex_);

  Engine& engine_;
  session::SessionManager& sessions_;
  session::WorkerPool& workers_;
  const SandboxOptions options_;
  const std::vector<sandbox::Grant> grants_;
  const TemplateImages images_;

  session::Timers timers_;  // of the boxes
  const std::shared_ptr<ProcessCount> process_count_ = std::make_shared<ProcessCount>();
  Mutex base_mutex_;
  std::map<std::string, std::shared_ptr<Sandbox>> bases_
      GUARDED_BY(base_mutex_);  // by image; made at the first use

  mutable Mutex mutex_;
  std::map<std::string, BoxPtr> boxes_ GUARDED_BY(mutex_);
  std::deque<Snapshot> snapshots_ GUARDED_BY(mutex_);  // the oldest first
  std::uint64_t last_snapshot_ GUARDED_BY(mutex_) = 0;
  PortRelays relays_{PortRelays::Patience{}};
};

// 20 letters and digits.
std::string random_id();

}  // namespace cloche::e2b
