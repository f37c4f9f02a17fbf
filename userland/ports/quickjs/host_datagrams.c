// UDP for node's dgram: none of these waits. A failure is a negative errno.
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "host_sockets.h"

// datagrams(4 or 6, 1 where the port may be another's too, 1 where IPv6 is IPv6 alone) -> a descriptor
static JSValue datagram_open(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int family, shared, only6;
  if (JS_ToInt32(ctx, &family, argv[0]) || JS_ToInt32(ctx, &shared, argv[1]) || JS_ToInt32(ctx, &only6, argv[2])) return JS_EXCEPTION;
  const int fd = socket(family == 6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return JS_NewInt32(ctx, -errno);
  const int on = 1;
  if (shared & 1) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (shared & 2) setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (family == 6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only6, sizeof only6);
  return JS_NewInt32(ctx, fd);
}

// bindDatagrams(fd, address, port), connectDatagrams(fd, address, port): without an address it is connected to nobody any more
static JSValue datagram_name(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int connects)
{
  int fd, port;
  if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt32(ctx, &port, argv[2])) return JS_EXCEPTION;
  union address address = { .any = { .sa_family = AF_UNSPEC } };
  socklen_t size = sizeof address.any;
  if (!JS_IsUndefined(argv[1])) {
    const char *text = JS_ToCString(ctx, argv[1]);
    if (!text) return JS_EXCEPTION;
    size = port < 0 ? 0 : address_of(text, port, &address);
    JS_FreeCString(ctx, text);
    if (!size) return JS_NewInt32(ctx, -EINVAL);
  }
  return JS_NewInt32(ctx, (connects ? connect : bind)(fd, &address.any, size) < 0 ? -errno : 0);
}

// sendDatagram(fd, buffer, offset, size, address or undefined, port) -> bytes taken
static JSValue datagram_send(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd, port;
  size_t size;
  if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt32(ctx, &port, argv[5])) return JS_EXCEPTION;
  const uint8_t *bytes = bytes_within(ctx, argv[1], argv[2], argv[3], &size);
  if (!bytes) return JS_EXCEPTION;
  union address address;
  socklen_t address_size = 0;
  if (!JS_IsUndefined(argv[4])) {
    const char *text = JS_ToCString(ctx, argv[4]);
    if (!text) return JS_EXCEPTION;
    address_size = port < 0 ? 0 : address_of(text, port, &address);
    JS_FreeCString(ctx, text);
    if (!address_size) return JS_NewInt32(ctx, -EINVAL);
  }
  const ssize_t count = sendto(fd, bytes, size, MSG_NOSIGNAL, address_size ? &address.any : NULL, address_size);
  return JS_NewInt64(ctx, count < 0 ? -errno : count);
}

// receiveDatagram(fd, buffer, offset, size) -> [bytes, [address, port]], or a negative errno
static JSValue datagram_receive(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd;
  size_t size;
  if (JS_ToInt32(ctx, &fd, argv[0])) return JS_EXCEPTION;
  uint8_t *bytes = bytes_within(ctx, argv[1], argv[2], argv[3], &size);
  if (!bytes) return JS_EXCEPTION;
  union address from;
  socklen_t from_size = sizeof from;
  memset(&from, 0, sizeof from);
  const ssize_t count = recvfrom(fd, bytes, size, 0, &from.any, &from_size);
  if (count < 0) return JS_NewInt32(ctx, -errno);
  JSValue pair = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, pair, 0, JS_NewInt64(ctx, count));
  JS_SetPropertyUint32(ctx, pair, 1, address_pair(ctx, &from));
  return pair;
}

static const struct {
  int level, name;
} settings[] = { { SOL_SOCKET, SO_RCVBUF }, { SOL_SOCKET, SO_SNDBUF }, { SOL_SOCKET, SO_BROADCAST }, { IPPROTO_IP, IP_TTL }, { IPPROTO_IPV6, IPV6_UNICAST_HOPS },
                 { IPPROTO_IP, IP_MULTICAST_TTL }, { IPPROTO_IPV6, IPV6_MULTICAST_HOPS }, { IPPROTO_IP, IP_MULTICAST_LOOP }, { IPPROTO_IPV6, IPV6_MULTICAST_LOOP } };

// setting(fd, which of the above[, its new value]) -> its value
static JSValue datagram_setting(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd, which, value = 0;
  if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt32(ctx, &which, argv[1])) return JS_EXCEPTION;
  if (which < 0 || which >= (int)(sizeof settings / sizeof *settings)) return JS_NewInt32(ctx, -EINVAL);
  socklen_t size = sizeof value;
  if (argc > 2 && !JS_IsUndefined(argv[2])) {
    if (JS_ToInt32(ctx, &value, argv[2])) return JS_EXCEPTION;
    return JS_NewInt32(ctx, setsockopt(fd, settings[which].level, settings[which].name, &value, size) < 0 ? -errno : value);
  }
  return JS_NewInt32(ctx, getsockopt(fd, settings[which].level, settings[which].name, &value, &size) < 0 ? -errno : value);
}

// member(fd, address of a group, 1 to join it and 0 to leave it)
static JSValue datagram_member(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd, joins;
  if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt32(ctx, &joins, argv[2])) return JS_EXCEPTION;
  const char *text = JS_ToCString(ctx, argv[1]);
  if (!text) return JS_EXCEPTION;
  union address group;
  const socklen_t size = address_of(text, 0, &group);
  JS_FreeCString(ctx, text);
  if (!size) return JS_NewInt32(ctx, -EINVAL);
  int status;
  if (group.any.sa_family == AF_INET) {
    const struct ip_mreq request = { .imr_multiaddr = group.v4.sin_addr };
    status = setsockopt(fd, IPPROTO_IP, joins ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP, &request, sizeof request);
  } else {
    const struct ipv6_mreq request = { .ipv6mr_multiaddr = group.v6.sin6_addr };
    status = setsockopt(fd, IPPROTO_IPV6, joins ? IPV6_JOIN_GROUP : IPV6_LEAVE_GROUP, &request, sizeof request);
  }
  return JS_NewInt32(ctx, status < 0 ? -errno : 0);
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("datagrams", 3, datagram_open),
  JS_CFUNC_MAGIC_DEF("bindDatagrams", 3, datagram_name, 0),
  JS_CFUNC_MAGIC_DEF("connectDatagrams", 3, datagram_name, 1),
  JS_CFUNC_DEF("sendDatagram", 6, datagram_send),
  JS_CFUNC_DEF("receiveDatagram", 4, datagram_receive),
  JS_CFUNC_DEF("setting", 3, datagram_setting),
  JS_CFUNC_DEF("member", 3, datagram_member),
};

void add_datagram_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
