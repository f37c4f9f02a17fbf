// SPDX-License-Identifier: Apache-2.0
// The `cloche rpc` command: serves one client on two descriptors until it goes, or asks for the
// end.
#pragma once

#include "cloche/engine.h"

namespace cloche::rpc {

struct ServerOptions {
  int in = 0;
  int out = 1;
  int parent_pid = 0;    // when this process ends the server ends too; 0: none
  EngineOptions engine;  // `progress` also goes to clients that ask for it
};

// Returns the exit status, 0. After the end of input, requests that can be answered within a moment
// are; then everything is cancelled. What does not stop at once then (a program that is being
// compiled) is not waited for: the process exits. Throws HostError.
int serve(const ServerOptions& options);

}  // namespace cloche::rpc
