// SPDX-License-Identifier: Apache-2.0
#include "doors/http/lost_peer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace cloche::http {

void notice_lost_peer(int socket) {
  const auto set = [socket](int level, int name, int value) {
    (void)::setsockopt(socket, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 60);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 15);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  // The same for what has been sent and is not acknowledged.
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 120'000);
}

}  // namespace cloche::http
