// What node's loop waits for: descriptors, signals and time; and the jobs of promises. The loop itself is written in JavaScript.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

static struct pollfd *watched;
static size_t watched_count, watched_room;
static int64_t idle_ns;

// Which signals have come, and a pipe that says so to who waits, also to one that only begins to.
static volatile sig_atomic_t came[65];
static int told[2] = { -1, -1 };

static int64_t now_ns(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int watch_descriptor(int fd, short events)
{
  size_t i = 0;
  while (i < watched_count && watched[i].fd != fd) i++;
  if (events == 0) {
    if (i < watched_count) watched[i] = watched[--watched_count];
    return 0;
  }
  if (i == watched_count) {
    if (watched_count == watched_room) {
      size_t room = watched_room ? 2 * watched_room : 16;
      struct pollfd *grown = realloc(watched, room * sizeof *watched);
      if (!grown) return -ENOMEM;
      watched = grown;
      watched_room = room;
    }
    watched_count++;
  }
  watched[i] = (struct pollfd){ .fd = fd, .events = events };
  return 0;
}

// watch(fd, events of poll; 0 for none any more)
static JSValue loop_watch(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd, events;
  if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt32(ctx, &events, argv[1])) return JS_EXCEPTION;
  if (watch_descriptor(fd, (short)events)) return JS_ThrowOutOfMemory(ctx);
  return JS_UNDEFINED;
}

static void handle_signal(int signo)
{
  int error = errno;
  came[signo] = 1;
  if (write(told[1], "", 1) < 0) {} // One that is full says enough.
  errno = error;
}

// signal(number, 1 to be told of it, 0 for what the system does)
static JSValue loop_signal(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int signo, wanted;
  if (JS_ToInt32(ctx, &signo, argv[0]) || JS_ToInt32(ctx, &wanted, argv[1])) return JS_EXCEPTION;
  if (signo < 1 || signo > 64) return JS_NewInt32(ctx, -EINVAL);
  if (told[0] < 0) {
    if (pipe2(told, O_CLOEXEC | O_NONBLOCK) < 0) return JS_NewInt32(ctx, -errno);
    if (watch_descriptor(told[0], POLLIN)) return JS_ThrowOutOfMemory(ctx);
  }
  struct sigaction action = { .sa_handler = wanted ? handle_signal : SIG_DFL };
  return JS_NewInt32(ctx, sigaction(signo, &action, NULL) < 0 ? -errno : 0);
}

static void add_pair(JSContext *ctx, JSValueConst array, uint32_t *at, int first, int second)
{
  JS_SetPropertyUint32(ctx, array, (*at)++, JS_NewInt32(ctx, first));
  JS_SetPropertyUint32(ctx, array, (*at)++, JS_NewInt32(ctx, second));
}

// waitFor(ms, or -1 without end) -> [descriptor, what is ready of it, ...]; a signal is there as its negative number
static JSValue loop_wait(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  double timeout;
  if (JS_ToFloat64(ctx, &timeout, argv[0])) return JS_EXCEPTION;
  const int ms = timeout < 0 ? -1 : timeout > INT_MAX ? INT_MAX : (int)timeout;
  const int64_t began = ms ? now_ns() : 0;
  int ready = poll(watched, (nfds_t)watched_count, ms);
  if (ms) idle_ns += now_ns() - began;
  JSValue array = JS_NewArray(ctx);
  uint32_t at = 0;
  for (size_t i = 0; ready > 0 && i < watched_count; i++) {
    if (!watched[i].revents) continue;
    ready--;
    if (watched[i].fd != told[0]) {
      add_pair(ctx, array, &at, watched[i].fd, watched[i].revents);
      continue;
    }
    for (char bytes[64]; read(told[0], bytes, sizeof bytes) > 0;) {}
    for (int signo = 1; signo <= 64; signo++) {
      if (!came[signo]) continue;
      came[signo] = 0;
      add_pair(ctx, array, &at, -signo, 1);
    }
  }
  return array;
}

// idleMs() -> how long the loop has waited, all in all
static JSValue loop_idle(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  return JS_NewFloat64(ctx, (double)idle_ns / 1e6);
}

// See edit.py.
void JS_EndTurn(JSContext *ctx);

// runJobs(): those of promises, until there are none, and the stores of none are there then; what one throws is thrown here.
static JSValue loop_jobs(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  JSRuntime *runtime = JS_GetRuntime(ctx);
  JSContext *other;
  int ran;
  JS_SetAsyncFrame(ctx, JS_UNDEFINED);
  while ((ran = JS_ExecutePendingJob(runtime, &other)) > 0) {}
  if (ran == 0) JS_EndTurn(ctx);
  return ran < 0 ? JS_EXCEPTION : JS_UNDEFINED;
}

static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("watch", 2, loop_watch),
  JS_CFUNC_DEF("signal", 2, loop_signal),
  JS_CFUNC_DEF("waitFor", 1, loop_wait),
  JS_CFUNC_DEF("idleMs", 0, loop_idle),
  JS_CFUNC_DEF("runJobs", 0, loop_jobs),
};

void add_loop_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
