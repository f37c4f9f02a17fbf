// SPDX-License-Identifier: Apache-2.0
// What cells ask each other for clients that have connected to the SSH port of one of them, for a
// session of another: GET /cell/ssh/ID, whether what the client has shown would open the session;
// and CONNECT /cell/ssh/ID, a tunnel to its SSH, which wants no login any more.
#pragma once

#include <memory>
#include <string_view>

#include "cluster/router.h"
#include "doors/http/server.h"
#include "doors/ssh/ssh_door.h"
#include "session/session_manager.h"

namespace cloche::serve {

bool is_ssh_path(std::string_view path);

// Of a peer, which has seen that its client has what it says.
void answer_ssh_request(const http::Request& request,
                        const std::shared_ptr<http::Exchange>& exchange,
                        session::SessionManager& sessions, ssh::SshDoor& door);

// Asks it.
class SshElsewhere final : public ssh::Elsewhere {
 public:
  explicit SshElsewhere(cluster::Router& router) : router_(router) {}

  Verdict judge(std::string_view session_id, const ssh::Proof& proof) override;
  Opened open(std::string_view session_id, const ssh::Proof& proof,
              std::string_view client) override;

 private:
  cluster::Router& router_;
};

}  // namespace cloche::serve
