// SPDX-License-Identifier: Apache-2.0
#include "doors/cli/commands.h"
#include "doors/cli/jail.h"
#include "doors/cli/support.h"
#include "doors/rpc/server.h"

namespace cloche::cli {

int rpc_command(const Options& options) {
  rpc::ServerOptions server;
  server.parent_pid = options.parent_pid;
  server.engine.progress = complain;
  enter_jail_with_files(server.engine);
  return rpc::serve(server);
}

}  // namespace cloche::cli
