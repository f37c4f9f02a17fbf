// SPDX-License-Identifier: Apache-2.0
// Files up and down as they are: /files of the agent, also by signed addresses (signed_address.h).
// Those have this server's own name, and what is in a file is a stranger's: a browser takes it for
// no page of this server.
#pragma once

#include "doors/e2b/boxes.h"
#include "doors/http/message.h"

namespace cloche::e2b {

http::Response download(const BoxPtr& box, session::Session::Use use, const http::Request& request);
http::Response upload(Sandbox& sandbox, const http::Request& request);

}  // namespace cloche::e2b
