// Processes, pipes and what the system tells of itself, for node's library. A failure is a negative errno.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "host.h"

static void free_strings(JSContext *ctx, char **strings)
{
  if (!strings) return;
  for (char **s = strings; *s; s++) JS_FreeCString(ctx, *s);
  free(strings);
}

static char **strings_of(JSContext *ctx, JSValueConst array)
{
  int64_t count;
  if (JS_GetLength(ctx, array, &count) || count > 1 << 20) return NULL;
  char **strings = calloc((size_t)count + 1, sizeof *strings);
  for (int64_t i = 0; strings && i < count; i++) {
    JSValue value = JS_GetPropertyInt64(ctx, array, i);
    strings[i] = (char *)JS_ToCString(ctx, value);
    JS_FreeValue(ctx, value);
    if (!strings[i]) {
      free_strings(ctx, strings);
      return NULL;
    }
  }
  return strings;
}

// The descriptors that the child gets as 0, 1, 2 ... ; -1 leaves one closed. Numbers below those are moved out of the way first.
static int add_descriptors(JSContext *ctx, posix_spawn_file_actions_t *actions, JSValueConst array)
{
  int64_t count;
  if (JS_GetLength(ctx, array, &count) || count > 64) return EINVAL;
  for (int pass = 0; pass < 2; pass++) {
    for (int to = 0; to < (int)count; to++) {
      int32_t from;
      JSValue value = JS_GetPropertyInt64(ctx, array, to);
      JS_ToInt32(ctx, &from, value);
      JS_FreeValue(ctx, value);
      int error = 0;
      if (from >= 0) {
        const int spare = 100 + to;
        error = pass == 0 ? posix_spawn_file_actions_adddup2(actions, from, spare)
                          : posix_spawn_file_actions_adddup2(actions, spare, to);
        if (pass == 1 && !error) error = posix_spawn_file_actions_addclose(actions, spare);
      } else if (pass == 1) {
        error = posix_spawn_file_actions_addclose(actions, to);
      }
      if (error) return error;
    }
  }
  return 0;
}

// spawn(file, args, environment, cwd or "", descriptors, 1 for a session of its own) -> pid
static JSValue process_spawn(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int detached = 0;
  JS_ToInt32(ctx, &detached, argv[5]);
  const char *file = JS_ToCString(ctx, argv[0]), *cwd = JS_ToCString(ctx, argv[3]);
  char **words = strings_of(ctx, argv[1]), **environment = strings_of(ctx, argv[2]);
  JSValue result = JS_EXCEPTION;
  if (file && cwd && words && environment) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    if (detached) posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
    int error = add_descriptors(ctx, &actions, argv[4]);
    if (!error && *cwd) error = posix_spawn_file_actions_addchdir_np(&actions, cwd);
    pid_t pid = 0;
    if (!error) error = posix_spawn(&pid, file, &actions, &attributes, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    result = JS_NewInt32(ctx, error ? -error : pid);
  }
  free_strings(ctx, environment);
  free_strings(ctx, words);
  JS_FreeCString(ctx, cwd);
  JS_FreeCString(ctx, file);
  return result;
}

// pipe() -> [read end, write end], both closed on exec
static JSValue process_pipe(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return JS_NewInt32(ctx, -errno);
  JSValue array = JS_NewArray(ctx);
  for (uint32_t i = 0; i < 2; i++) JS_SetPropertyUint32(ctx, array, i, JS_NewInt32(ctx, ends[i]));
  return array;
}

// wait(pid, 1 not to wait) -> [pid, exit code, signal], pid 0 when it still runs
static JSValue process_wait(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int pid, now, status = 0;
  if (JS_ToInt32(ctx, &pid, argv[0]) || JS_ToInt32(ctx, &now, argv[1])) return JS_EXCEPTION;
  pid_t got;
  do got = waitpid(pid, &status, now ? WNOHANG : 0);
  while (got < 0 && errno == EINTR);
  if (got < 0) return JS_NewInt32(ctx, -errno);
  const int values[3] = { got, WIFEXITED(status) ? WEXITSTATUS(status) : -1, WIFSIGNALED(status) ? WTERMSIG(status) : 0 };
  JSValue array = JS_NewArray(ctx);
  for (uint32_t i = 0; i < 3; i++) JS_SetPropertyUint32(ctx, array, i, JS_NewInt32(ctx, values[i]));
  return array;
}

// poll(descriptors, events, timeout in ms or -1) -> what is ready of each
static JSValue process_poll(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct pollfd fds[64];
  int64_t count;
  int timeout_ms;
  if (JS_GetLength(ctx, argv[0], &count) || count > 64 || JS_ToInt32(ctx, &timeout_ms, argv[2])) return JS_EXCEPTION;
  for (int64_t i = 0; i < count; i++) {
    int32_t fd, events;
    JSValue value = JS_GetPropertyInt64(ctx, argv[0], i);
    JS_ToInt32(ctx, &fd, value);
    JS_FreeValue(ctx, value);
    value = JS_GetPropertyInt64(ctx, argv[1], i);
    JS_ToInt32(ctx, &events, value);
    JS_FreeValue(ctx, value);
    fds[i] = (struct pollfd){ .fd = fd, .events = (short)events };
  }
  int ready = poll(fds, (nfds_t)count, timeout_ms);
  if (ready < 0 && errno != EINTR) return JS_NewInt32(ctx, -errno);
  JSValue array = JS_NewArray(ctx);
  for (uint32_t i = 0; i < (uint32_t)count; i++) JS_SetPropertyUint32(ctx, array, i, JS_NewInt32(ctx, ready > 0 ? fds[i].revents : 0));
  return array;
}

static JSValue process_close_on_exec(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd;
  if (JS_ToInt32(ctx, &fd, argv[0])) return JS_EXCEPTION;
  return JS_NewInt32(ctx, fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -errno : 0);
}

static JSValue process_non_blocking(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd;
  if (JS_ToInt32(ctx, &fd, argv[0])) return JS_EXCEPTION;
  int flags = fcntl(fd, F_GETFL);
  return JS_NewInt32(ctx, flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0);
}

// What a terminal was like before it was made raw, which it is again when the process ends.
static struct termios terminal_before;
static int raw_terminal = -1;

static void restore_terminal(void)
{
  if (raw_terminal >= 0) tcsetattr(raw_terminal, TCSADRAIN, &terminal_before);
  raw_terminal = -1;
}

// rawMode(fd, 1 for keys as they are pressed, 0 for lines)
static JSValue process_raw_mode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  static int hooked;
  int fd, on;
  if (JS_ToInt32(ctx, &fd, argv[0]) || JS_ToInt32(ctx, &on, argv[1])) return JS_EXCEPTION;
  if (!on) {
    restore_terminal();
    return JS_NewInt32(ctx, 0);
  }
  if (raw_terminal >= 0) return JS_NewInt32(ctx, 0);
  if (tcgetattr(fd, &terminal_before) < 0) return JS_NewInt32(ctx, -errno);
  struct termios raw = terminal_before;
  raw.c_iflag &= ~(tcflag_t)(BRKINT | ICRNL | INPCK | ISTRIP | IXON);
  raw.c_oflag |= ONLCR;
  raw.c_cflag |= CS8;
  raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON | IEXTEN | ISIG);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (tcsetattr(fd, TCSADRAIN, &raw) < 0) return JS_NewInt32(ctx, -errno);
  raw_terminal = fd;
  if (!hooked) hooked = !atexit(restore_terminal);
  return JS_NewInt32(ctx, 0);
}

static JSValue process_exit(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int status;
  JS_ToInt32(ctx, &status, argv[0]);
  exit(status);
}

static JSValue process_kill(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int pid, signo;
  if (JS_ToInt32(ctx, &pid, argv[0]) || JS_ToInt32(ctx, &signo, argv[1])) return JS_EXCEPTION;
  return JS_NewInt32(ctx, kill(pid, signo) < 0 ? -errno : 0);
}

enum { GETPID, GETPPID, GETUID, GETGID, UMASK, ISATTY, CLOCK_NS, CPUS, UPTIME_S, MEMORY_TOTAL, MEMORY_FREE, MEMORY_OWN, CPU_US };

static JSValue process_number(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int which)
{
  int n = 0;
  struct timespec now;
  struct sysinfo info;
  struct rusage usage;
  if (argc > 0) JS_ToInt32(ctx, &n, argv[0]);
  switch (which) {
  case GETPID: return JS_NewInt32(ctx, getpid());
  case GETPPID: return JS_NewInt32(ctx, getppid());
  case GETUID: return JS_NewUint32(ctx, getuid());
  case GETGID: return JS_NewUint32(ctx, getgid());
  case ISATTY: return JS_NewBool(ctx, isatty(n));
  case CPUS: return JS_NewInt32(ctx, (int)sysconf(_SC_NPROCESSORS_ONLN));
  case MEMORY_OWN: return JS_NewInt64(ctx, (int64_t)__builtin_wasm_memory_size(0) * 65536);
  case UMASK: {
    mode_t old = umask((mode_t)n);
    if (argc == 0) umask(old);
    return JS_NewUint32(ctx, old);
  }
  case CLOCK_NS:
    clock_gettime(CLOCK_MONOTONIC, &now);
    return JS_NewBigInt64(ctx, now.tv_sec * 1000000000LL + now.tv_nsec);
  case CPU_US:
    getrusage(RUSAGE_SELF, &usage);
    return JS_NewInt64(ctx, n ? usage.ru_stime.tv_sec * 1000000LL + usage.ru_stime.tv_usec
                              : usage.ru_utime.tv_sec * 1000000LL + usage.ru_utime.tv_usec);
  }
  if (sysinfo(&info) < 0) return JS_NewInt32(ctx, 0);
  if (which == UPTIME_S) return JS_NewInt64(ctx, info.uptime);
  return JS_NewInt64(ctx, (int64_t)(which == MEMORY_TOTAL ? info.totalram : info.freeram) * info.mem_unit);
}

static JSValue process_text(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int which)
{
  struct utsname name;
  char folder[4096];
  if (which == 3) return getcwd(folder, sizeof folder) ? JS_NewString(ctx, folder) : JS_NewInt32(ctx, -errno);
  if (uname(&name) < 0) return JS_NewInt32(ctx, -errno);
  return JS_NewString(ctx, which == 0 ? name.nodename : which == 1 ? name.release : name.machine);
}

static JSValue process_random(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int size;
  if (JS_ToInt32(ctx, &size, argv[0]) || size < 0 || size > 1 << 28) return JS_ThrowRangeError(ctx, "so many random bytes are not given");
  uint8_t *bytes = calloc((size_t)size + 1, 1);
  if (!bytes) return JS_ThrowOutOfMemory(ctx);
  for (size_t done = 0; done < (size_t)size;) {
    ssize_t count = getrandom(bytes + done, (size_t)size - done, 0);
    if (count > 0) done += (size_t)count;
  }
  JSValue buffer = JS_NewArrayBufferCopy(ctx, bytes, (size_t)size);
  free(bytes);
  return buffer;
}

static JSValue process_error_text(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int error;
  if (JS_ToInt32(ctx, &error, argv[0])) return JS_EXCEPTION;
  return JS_NewString(ctx, strerror(error));
}

#define NUMBER(name, which) JS_CFUNC_MAGIC_DEF(name, 1, process_number, which)
static const JSCFunctionListEntry functions[] = {
  JS_CFUNC_DEF("spawn", 6, process_spawn),
  JS_CFUNC_DEF("pipe", 0, process_pipe),
  JS_CFUNC_DEF("wait", 2, process_wait),
  JS_CFUNC_DEF("poll", 3, process_poll),
  JS_CFUNC_DEF("closeOnExec", 1, process_close_on_exec),
  JS_CFUNC_DEF("nonBlocking", 1, process_non_blocking),
  JS_CFUNC_DEF("exit", 1, process_exit),
  JS_CFUNC_DEF("rawMode", 2, process_raw_mode),
  JS_CFUNC_DEF("kill", 2, process_kill),
  JS_CFUNC_DEF("random", 1, process_random),
  JS_CFUNC_DEF("errorText", 1, process_error_text),
  NUMBER("getpid", GETPID), NUMBER("getppid", GETPPID), NUMBER("getuid", GETUID), NUMBER("getgid", GETGID),
  NUMBER("umask", UMASK), NUMBER("isatty", ISATTY), NUMBER("clockNs", CLOCK_NS), NUMBER("cpus", CPUS),
  NUMBER("uptime", UPTIME_S), NUMBER("memoryTotal", MEMORY_TOTAL), NUMBER("memoryFree", MEMORY_FREE),
  NUMBER("memoryOwn", MEMORY_OWN), NUMBER("cpuUs", CPU_US),
  JS_CFUNC_MAGIC_DEF("hostname", 0, process_text, 0),
  JS_CFUNC_MAGIC_DEF("release", 0, process_text, 1),
  JS_CFUNC_MAGIC_DEF("machine", 0, process_text, 2),
  JS_CFUNC_MAGIC_DEF("getcwd", 0, process_text, 3),
};

void add_process_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
