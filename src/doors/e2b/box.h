// SPDX-License-Identifier: Apache-2.0
// Box: what this door knows of one of its sandboxes, besides its session: what the client said when
// it made it, its tokens, when it ends, and what its agent and its code interpreter hold.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/mutex.h"
#include "doors/e2b/box_start.h"
#include "doors/e2b/code_interpreter.h"
#include "doors/e2b/network_rules.h"
#include "doors/e2b/processes.h"
#include "doors/e2b/watches.h"
#include "session/session_manager.h"

namespace cloche::e2b {

using Seconds = std::chrono::seconds;

// What the client wants of a sandbox.
struct BoxWish {
  std::string template_id;
  std::string alias;        // its name; empty: the id is one
  std::string snapshot_id;  // what it is a copy of; empty: what the template says
  bool is_build = false;    // of a template: nobody is told of it
  Seconds timeout{300};
  std::map<std::string, std::string> metadata;
  std::map<std::string, std::string> environment;
  bool is_secure = true;
  bool auto_pause = false;
  session::SessionManager::Processes auto_pause_processes =
      session::SessionManager::Processes::stop;
  bool auto_resume = false;
  NetworkWish network;
  std::optional<std::vector<std::string>> allow;  // the rules; nothing: its template's
};

// What every sandbox of this door may take.
struct BoxLimits {
  std::uint32_t cpus;
  std::uint64_t memory_bytes;
  std::uint64_t file_bytes;
};

struct Box {
  Box(BoxWish its_wish, std::string its_id, std::string its_owner, BoxLimits its_limits,
      session::WorkerPool& workers, session::Timers& timers,
      const std::shared_ptr<ProcessCount>& count)
      : id(std::move(its_id)),
        owner(std::move(its_owner)),
        wish(std::move(its_wish)),
        limits(its_limits),
        processes(std::make_shared<Processes>(workers, count)),
        watches(std::make_shared<Watches>(workers, timers)),
        interpreter(workers, owner, count) {}

  const std::string id;
  const std::string owner;
  const BoxWish wish;
  const BoxLimits limits;
  std::string alias;        // of its template; empty: none
  BoxStart start;           // set before anybody else knows of it
  std::string agent_token;  // empty: none is asked for
  std::string traffic_token;
  std::shared_ptr<session::Session> session;  // set before anybody else knows of it

  const std::shared_ptr<Processes> processes;
  const std::shared_ptr<Watches> watches;
  CodeInterpreter interpreter;

  // Who pauses or resumes it, or looks whether its end has come, has this: all of that with what
  // becomes of its deadline. No data is its own: Boxes has what REQUIRES(box->turn).
  Mutex turn;
  mutable Mutex mutex;
  Moment ends GUARDED_BY(mutex);          // what the client was told, and what counts
  OrderedJson network GUARDED_BY(mutex);  // as the client said it
  bool allow_public_traffic GUARDED_BY(mutex) = true;
  std::string mask_request_host GUARDED_BY(mutex);  // of servers inside; empty: the client's
  bool has_network GUARDED_BY(mutex) = false;       // some rule opens something
  double cpu_seconds GUARDED_BY(mutex) = 0;         // when its use was asked for last
  std::chrono::steady_clock::time_point cpu_asked GUARDED_BY(mutex) =
      std::chrono::steady_clock::now();
};

using BoxPtr = std::shared_ptr<Box>;

}  // namespace cloche::e2b
