// Sockets for node's net: none of these waits. A failure is a negative errno; a name that is not found is EAI's negative number less 1000.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

#include "host_sockets.h"

socklen_t address_of(const char *text, int port, union address *out)
{
  memset(out, 0, sizeof *out);
  if (port < 0) {
    if (strlen(text) >= sizeof out->path.sun_path) return 0;
    out->path.sun_family = AF_UNIX;
    strcpy(out->path.sun_path, text);
    return sizeof out->path;
  }
  if (inet_pton(AF_INET, text, &out->v4.sin_addr) == 1) {
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons((uint16_t)port);
    return sizeof out->v4;
  }
  if (inet_pton(AF_INET6, text, &out->v6.sin6_addr) != 1) return 0;
  out->v6.sin6_family = AF_INET6;
  out->v6.sin6_port = htons((uint16_t)port);
  return sizeof out->v6;
}

JSValue address_pair(JSContext *ctx, const union address *address)
{
  char text[INET6_ADDRSTRLEN] = "";
  int port = -1;
  const char *shown = text;
  if (address->any.sa_family == AF_INET) {
    inet_ntop(AF_INET, &address->v4.sin_addr, text, sizeof text);
    port = ntohs(address->v4.sin_port);
  } else if (address->any.sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &address->v6.sin6_addr, text, sizeof text);
    port = ntohs(address->v6.sin6_port);
  } else if (address->any.sa_family == AF_UNIX) {
    shown = address->path.sun_path;
  }
  JSValue pair = JS_NewArray(ctx);
  JS_SetPropertyUint32(ctx, pair, 0, JS_NewString(ctx, shown));
  JS_SetPropertyUint32(ctx, pair, 1, JS_NewInt32(ctx, port));
  return pair;
}

// resolve(name, 0, 4 or 6) -> [addresses]
static JSValue socket_resolve(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int family;
  if (JS_ToInt32(ctx, &family, argv[1])) return JS_EXCEPTION;
  const char *name = JS_ToCString(ctx, argv[0]);
  if (!name) return JS_EXCEPTION;
  struct addrinfo hints = { .ai_family = family == 4 ? AF_INET : family == 6 ? AF_INET6 : AF_UNSPEC, .ai_socktype = SOCK_STREAM }, *found = NULL;
  const int error = getaddrinfo(name, NULL, &hints, &found);
  JS_FreeCString(ctx, name);
  if (error) return JS_NewInt32(ctx, error - 1000);
  JSValue list = JS_NewArray(ctx);
  uint32_t count = 0;
  for (const struct addrinfo *one = found; one; one = one->ai_next) {
    char text[INET6_ADDRSTRLEN];
    const void *bytes = one->ai_family == AF_INET ? (const void *)&((struct sockaddr_in *)one->ai_addr)->sin_addr
                                                  : (const void *)&((struct sockaddr_in6 *)one->ai_addr)->sin6_addr;
    if (inet_ntop(one->ai_family, bytes, text, sizeof text)) JS_SetPropertyUint32(ctx, list, count++, JS_NewString(ctx, text));
  }
  freeaddrinfo(found);
  return list;
}

// connect(address, port or -1), listen(address, port or -1, most that wait) -> a descriptor; a connection may still be on its way
static JSValue socket_open(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int listens)
{
  int port, backlog = 0;
  if (JS_ToInt32(ctx, &port, argv[1]) || (listens && JS_ToInt32(ctx, &backlog, argv[2]))) return JS_EXCEPTION;
  const char *text = JS_ToCString(ctx, argv[0]);
  if (!text) return JS_EXCEPTION;
  union address address;
  const socklen_t size = address_of(text, port, &address);
  JS_FreeCString(ctx, text);
  if (!size) return JS_NewInt32(ctx, -EINVAL);
  const int fd = socket(address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return JS_NewInt32(ctx, -errno);
  const int on = 1, off = 0;
  int status;
  if (listens) {
    if (port >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address.any.sa_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    status = bind(fd, &address.any, size);
    if (!status) status = listen(fd, backlog);
  } else {
    status = connect(fd, &address.any, size);
    if (status && errno == EINPROGRESS) status = 0;
  }
  if (!status) return JS_NewInt32(ctx, fd);
  const int error = errno;
  close(fd);
  return JS_NewInt32(ctx, -error);
}

static JSValue socket_accept(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd;
  if (JS_ToInt32(ctx, &fd, argv[0])) return JS_EXCEPTION;
  const int got = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return JS_NewInt32(ctx, got < 0 ? -errno : got);
}

// name(fd, 1 for the other end) -> [address, port]
static JSValue socket_name(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd, other;
  if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt32(ctx, &other, argv[1])) return JS_EXCEPTION;
  union address address;
  socklen_t size = sizeof address;
  memset(&address, 0, sizeof address);
  if ((other ? getpeername : getsockname)(fd, &address.any, &size) < 0) return JS_NewInt32(ctx, -errno);
  return address_pair(ctx, &address);
}

// What became of a connection, as a negative errno.
static JSValue socket_error(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd, error = 0;
  socklen_t size = sizeof error;
  if (JS_ToInt32(ctx, &fd, argv[0])) return JS_EXCEPTION;
  if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) error = errno;
  return JS_NewInt32(ctx, -error);
}

static JSValue socket_shutdown(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd;
  if (JS_ToInt32(ctx, &fd, argv[0])) return JS_EXCEPTION;
  return JS_NewInt32(ctx, shutdown(fd, SHUT_WR) < 0 ? -errno : 0);
}

// pair() -> [one end, the other], neither of which waits; both are closed on exec
static JSValue socket_pair(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) < 0) return JS_NewInt32(ctx, -errno);
  JSValue array = JS_NewArray(ctx);
  for (uint32_t i = 0; i < 2; i++) JS_SetPropertyUint32(ctx, array, i, JS_NewInt32(ctx, ends[i]));
  return array;
}

static JSValue socket_no_delay(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd, on;
  if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt32(ctx, &on, argv[1])) return JS_EXCEPTION;
  return JS_NewInt32(ctx, setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ? -errno : 0);
}

// startTls(fd, words): from here on the host speaks TLS on the connection, and tells first how it began
static JSValue socket_start_tls(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd;
  size_t size;
  if (JS_ToInt32(ctx, &fd, argv[0])) return JS_EXCEPTION;
  const char *words = JS_ToCStringLen(ctx, &size, argv[1]);
  if (!words) return JS_EXCEPTION;
  const int status = setsockopt(fd, 0x1000, 1, words, (socklen_t)size) < 0 ? -errno : 0;
  JS_FreeCString(ctx, words);
  return JS_NewInt32(ctx, status);
}

uint8_t *bytes_within(JSContext *ctx, JSValueConst buffer, JSValueConst offset_given, JSValueConst size_given, size_t *out)
{
  size_t whole;
  int64_t offset, size;
  uint8_t *bytes = JS_GetArrayBuffer(ctx, &whole, buffer);
  if (JS_ToInt64(ctx, &offset, offset_given) || JS_ToInt64(ctx, &size, size_given)) return NULL;
  if (!bytes || offset < 0 || size < 0 || (uint64_t)offset > whole || (uint64_t)size > whole - (uint64_t)offset) {
    JS_ThrowRangeError(ctx, "the range is outside of the buffer");
    return NULL;
  }
  *out = (size_t)size;
  return bytes + offset;
}

// send(fd, buffer, offset, size[, a descriptor that goes with the first byte]) -> bytes taken
static JSValue socket_send(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd, passed = -1;
  size_t size;
  if (JS_ToInt32(ctx, &fd, argv[0]) || (argc > 4 && JS_ToInt32(ctx, &passed, argv[4]))) return JS_EXCEPTION;
  uint8_t *bytes = bytes_within(ctx, argv[1], argv[2], argv[3], &size);
  if (!bytes) return JS_EXCEPTION;
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(sizeof passed)];
  } control = { 0 };
  struct iovec part = { bytes, size };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
  if (passed >= 0) {
    control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof passed), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(&control.header), &passed, sizeof passed);
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
  }
  const ssize_t count = sendmsg(fd, &message, MSG_NOSIGNAL);
  return JS_NewInt64(ctx, count < 0 ? -errno : count);
}

// receive(fd, buffer, offset, size) -> [bytes, descriptors that came with them ...], or a negative errno
static JSValue socket_receive(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd;
  size_t size;
  if (JS_ToInt32(ctx, &fd, argv[0])) return JS_EXCEPTION;
  uint8_t *bytes = bytes_within(ctx, argv[1], argv[2], argv[3], &size);
  if (!bytes) return JS_EXCEPTION;
  union {
    struct cmsghdr header;
    char room[CMSG_SPACE(64 * sizeof(int))];
  } control;
  struct iovec part = { bytes, size };
  struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control };
  const ssize_t count = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
  if (count < 0) return JS_NewInt32(ctx, -errno);
  JSValue list = JS_NewArray(ctx);
  uint32_t at = 0;
  JS_SetPropertyUint32(ctx, list, at++, JS_NewInt64(ctx, count));
  for (struct cmsghdr *one = CMSG_FIRSTHDR(&message); one; one = CMSG_NXTHDR(&message, one)) {
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SCM_RIGHTS) continue;
    const size_t passed = (one->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < passed; i++) {
      int got;
      memcpy(&got, CMSG_DATA(one) + i * sizeof got, sizeof got);
      JS_SetPropertyUint32(ctx, list, at++, JS_NewInt32(ctx, got));
    }
  }
  return list;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("resolve", 2, socket_resolve),
  JS_CFUNC_MAGIC_DEF("connect", 2, socket_open, 0),
  JS_CFUNC_MAGIC_DEF("listen", 3, socket_open, 1),
  JS_CFUNC_DEF("accept", 1, socket_accept),
  JS_CFUNC_DEF("socketName", 2, socket_name),
  JS_CFUNC_DEF("socketPair", 0, socket_pair),
  JS_CFUNC_DEF("socketError", 1, socket_error),
  JS_CFUNC_DEF("shutdown", 1, socket_shutdown),
  JS_CFUNC_DEF("noDelay", 2, socket_no_delay),
  JS_CFUNC_DEF("startTls", 2, socket_start_tls),
  JS_CFUNC_DEF("send", 5, socket_send),
  JS_CFUNC_DEF("receive", 4, socket_receive),
};

void add_socket_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
