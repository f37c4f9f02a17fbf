// Addresses of sockets as node's library has them: a text and a port, or with port -1 a path.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "host.h"

union address {
  struct sockaddr any;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
  struct sockaddr_un path;
};

// The address of a text: IPv4, IPv6, or with port -1 a path. Its size, 0 where it is none.
socklen_t address_of(const char *text, int port, union address *out);

// [address, port], or for a path [path, -1]
JSValue address_pair(JSContext *ctx, const union address *address);

// The bytes of a buffer from `offset` on, `size` of them; NULL after an exception.
uint8_t *bytes_within(JSContext *ctx, JSValueConst buffer, JSValueConst offset, JSValueConst size, size_t *out);
