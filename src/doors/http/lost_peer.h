// SPDX-License-Identifier: Apache-2.0
// A peer that is gone without a word: its machine has lost power, or its network.
#pragma once

namespace cloche::http {

// A read of a TCP socket fails two minutes after its peer was last heard of, however quiet the
// connection is. Nothing for a socket of another kind.
void notice_lost_peer(int socket);

}  // namespace cloche::http
