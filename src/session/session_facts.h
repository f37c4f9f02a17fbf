// SPDX-License-Identifier: Apache-2.0
// What is known of a session besides its sandbox.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/clock.h"

namespace cloche::session {

using cloche::SteadyTime;
using cloche::WallTime;

// Failed: its sandbox has been ended from outside of it, and nothing of it is saved; it can only be
// closed.
enum class Status : std::uint8_t { running, paused, failed, closed };

// Of use: it ends when nobody uses it for long, and may outlive the server. Of time: it ends, with
// the server at the latest, when its deadline says so, which can be set anew.
enum class Lifetime : std::uint8_t { of_use, of_time };

// What the client said when it made the session; never changes.
struct Facts {
  std::string id;        // a random UUID
  std::string owner;     // who may see it; empty where nobody is told apart
  std::string metadata;  // JSON text, echoed
  std::string image;
  std::string ssh_public_key;  // an OpenSSH line, or empty
  std::string parent;          // the session that this is a fork of; empty: none
  std::string door;            // by which it came: "rest", "rpc", ...; empty: not known
  std::string wish;            // for its sandbox, as JSON (sandbox/options); empty: none
  WallTime created;
  WallTime expires;  // at first (see Session::expires); WallTime::max(): never
  std::uint64_t sequence = 0;
  Lifetime lifetime = Lifetime::of_use;
};

}  // namespace cloche::session
