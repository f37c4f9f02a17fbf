// SPDX-License-Identifier: Apache-2.0
// BoxStart: how a sandbox begins that is made of a template: whose name a command has that says
// none, where it starts, and the service that runs from the start on.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "cloche/sandbox.h"

namespace cloche::e2b {

struct BoxStart {
  std::string user = "user";  // or root
  std::string workdir;        // empty: the home folder of whoever it is
  std::string start_command;  // of the service; empty: there is none
  std::string ready_command;  // succeeds once it can be used; empty: it is not waited for
};

// Starts the service and waits until it is ready. A sentence where it is not within that time, or
// until `stop`.
std::optional<std::string> begin_service(Sandbox& sandbox, const BoxStart& start,
                                         std::chrono::seconds patience, std::stop_token stop = {});

// How sandboxes begin that are copies of this one, in which begin_service has been done. A ready
// command that only sleeps says how long the service takes and not what to look for: they wait for
// the ports where it listens here instead, and for nothing where it listens at none.
BoxStart start_of_copies(Sandbox& sandbox, BoxStart start);

}  // namespace cloche::e2b
