// SPDX-License-Identifier: Apache-2.0
// BoxStart: how a sandbox begins that is made of a template: whose name a command has that says
// none, where it starts, and the service that runs from the start on.
#pragma once

#include <optional>
#include <string>

#include "cloche/sandbox.h"

namespace cloche::e2b {

struct BoxStart {
  std::string user = "user";  // or root
  std::string workdir;        // empty: the home folder of whoever it is
  std::string start_command;  // of the service; empty: there is none
  std::string ready_command;  // succeeds once it can be used; empty: it is not waited for
};

// Starts the service and waits until it is ready. A sentence where it is not within some seconds.
std::optional<std::string> begin_service(Sandbox& sandbox, const BoxStart& start);

}  // namespace cloche::e2b
