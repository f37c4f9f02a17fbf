// Files for node's library. A failure is a negative errno; the library makes the exception of it.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "host.h"

enum { PATHS = 2 };

static JSValue result_of(JSContext *ctx, long long result)
{
  return JS_NewInt64(ctx, result < 0 ? -errno : result);
}

// One call with the numbers and paths that it wants; `which` is the JS_CFUNC_MAGIC of its name.
enum { OPEN, MKDIR, RMDIR, UNLINK, RENAME, LINK, SYMLINK, CHMOD, FCHMOD, CHOWN, LCHOWN, ACCESS, TRUNCATE, FTRUNCATE, FSYNC, CLOSE };

static int call_file(int which, const char *a, const char *b, int n, int m, long long size)
{
  switch (which) {
  case OPEN: return open(a, n | O_CLOEXEC, m);
  case MKDIR: return mkdir(a, n);
  case RMDIR: return rmdir(a);
  case UNLINK: return unlink(a);
  case RENAME: return rename(a, b);
  case LINK: return link(a, b);
  case SYMLINK: return symlink(a, b);
  case CHMOD: return chmod(a, n);
  case FCHMOD: return fchmod(n, m);
  case CHOWN: return chown(a, n, m);
  case LCHOWN: return lchown(a, n, m);
  case ACCESS: return access(a, n);
  case TRUNCATE: return truncate(a, size);
  case FTRUNCATE: return ftruncate(n, size);
  case FSYNC: return fsync(n);
  case CLOSE: return close(n);
  }
  errno = ENOSYS;
  return -1;
}

static JSValue file_call(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int which)
{
  const char *path[PATHS] = { NULL, NULL };
  int number[2] = { 0, 0 }, paths = 0, numbers = 0;
  int64_t size = 0;
  for (int i = 0; i < argc; i++) {
    if (JS_IsString(argv[i]) && paths < PATHS) {
      path[paths++] = JS_ToCString(ctx, argv[i]);
    } else if (numbers < 2) {
      JS_ToInt64(ctx, &size, argv[i]);
      number[numbers++] = (int)size;
    }
  }
  JSValue result = result_of(ctx, call_file(which, path[0], path[1], number[0], number[1], size));
  for (int i = 0; i < paths; i++) JS_FreeCString(ctx, path[i]);
  return result;
}

// stat(path or descriptor, 1 for the link itself) -> numbers: dev ino mode nlink uid gid rdev size blksize blocks, atime mtime ctime in ms,
// and once more as seconds and nanoseconds
static JSValue file_stat(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  struct stat s;
  int link = 0, fd = -1, status;
  if (argc > 1) JS_ToInt32(ctx, &link, argv[1]);
  if (JS_IsNumber(argv[0])) {
    JS_ToInt32(ctx, &fd, argv[0]);
    status = fstat(fd, &s);
  } else {
    const char *path = JS_ToCString(ctx, argv[0]);
    if (!path) return JS_EXCEPTION;
    status = link ? lstat(path, &s) : stat(path, &s);
    JS_FreeCString(ctx, path);
  }
  if (status < 0) return JS_NewInt32(ctx, -errno);
  const double values[] = {
    s.st_dev, s.st_ino, s.st_mode, s.st_nlink, s.st_uid, s.st_gid, s.st_rdev, s.st_size, s.st_blksize, s.st_blocks,
    s.st_atim.tv_sec * 1e3 + s.st_atim.tv_nsec / 1e6, s.st_mtim.tv_sec * 1e3 + s.st_mtim.tv_nsec / 1e6,
    s.st_ctim.tv_sec * 1e3 + s.st_ctim.tv_nsec / 1e6,
    s.st_atim.tv_sec, s.st_atim.tv_nsec, s.st_mtim.tv_sec, s.st_mtim.tv_nsec, s.st_ctim.tv_sec, s.st_ctim.tv_nsec,
  };
  JSValue array = JS_NewArray(ctx);
  for (unsigned i = 0; i < sizeof values / sizeof *values; i++) JS_SetPropertyUint32(ctx, array, i, JS_NewFloat64(ctx, values[i]));
  return array;
}

// statfs(path) -> [type, size of a block, blocks, free ones, those for this user, files, free ones]
static JSValue file_statfs(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const char *path = JS_ToCString(ctx, argv[0]);
  if (!path) return JS_EXCEPTION;
  struct statfs s;
  const int status = statfs(path, &s);
  JS_FreeCString(ctx, path);
  if (status < 0) return JS_NewInt32(ctx, -errno);
  const double values[] = { (double)s.f_type, (double)s.f_bsize, (double)s.f_blocks, (double)s.f_bfree, (double)s.f_bavail, (double)s.f_files, (double)s.f_ffree };
  JSValue array = JS_NewArray(ctx);
  for (unsigned i = 0; i < sizeof values / sizeof *values; i++) JS_SetPropertyUint32(ctx, array, i, JS_NewFloat64(ctx, values[i]));
  return array;
}

// readdir(path) -> [name, type, name, type ...]
static JSValue file_readdir(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const char *path = JS_ToCString(ctx, argv[0]);
  if (!path) return JS_EXCEPTION;
  DIR *folder = opendir(path);
  JS_FreeCString(ctx, path);
  if (!folder) return JS_NewInt32(ctx, -errno);
  JSValue array = JS_NewArray(ctx);
  uint32_t count = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
    JS_SetPropertyUint32(ctx, array, count++, JS_NewString(ctx, entry->d_name));
    JS_SetPropertyUint32(ctx, array, count++, JS_NewInt32(ctx, entry->d_type));
  }
  closedir(folder);
  return array;
}

static JSValue file_readlink(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  char target[4096];
  const char *path = JS_ToCString(ctx, argv[0]);
  if (!path) return JS_EXCEPTION;
  ssize_t size = readlink(path, target, sizeof target);
  JS_FreeCString(ctx, path);
  return size < 0 ? JS_NewInt32(ctx, -errno) : JS_NewStringLen(ctx, target, size);
}

static JSValue file_realpath(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const char *path = JS_ToCString(ctx, argv[0]);
  if (!path) return JS_EXCEPTION;
  char *real = realpath(path, NULL);
  JS_FreeCString(ctx, path);
  if (!real) return JS_NewInt32(ctx, -errno);
  JSValue result = JS_NewString(ctx, real);
  free(real);
  return result;
}

static JSValue file_mkdtemp(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  const char *pattern = JS_ToCString(ctx, argv[0]);
  if (!pattern) return JS_EXCEPTION;
  char *path = strdup(pattern);
  JS_FreeCString(ctx, pattern);
  JSValue result = path && mkdtemp(path) ? JS_NewString(ctx, path) : JS_NewInt32(ctx, -errno);
  free(path);
  return result;
}

static JSValue file_utimes(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  double seconds[2];
  int link;
  if (JS_ToFloat64(ctx, &seconds[0], argv[1]) || JS_ToFloat64(ctx, &seconds[1], argv[2]) || JS_ToInt32(ctx, &link, argv[3])) return JS_EXCEPTION;
  struct timespec times[2];
  for (int i = 0; i < 2; i++) {
    times[i].tv_sec = (time_t)seconds[i];
    times[i].tv_nsec = (long)((seconds[i] - (double)times[i].tv_sec) * 1e9);
  }
  const char *path = JS_ToCString(ctx, argv[0]);
  if (!path) return JS_EXCEPTION;
  int status = utimensat(AT_FDCWD, path, times, link ? AT_SYMLINK_NOFOLLOW : 0);
  JS_FreeCString(ctx, path);
  return result_of(ctx, status);
}

static void *resize_bytes(JSRuntime *runtime, void *opaque, void *bytes, size_t size)
{
  if (size) return realloc(bytes, size);
  free(bytes);
  return NULL;
}

JSValue bytes_of(JSContext *ctx, uint8_t *bytes, size_t size)
{
  return JS_NewArrayBuffer(ctx, bytes, size, 0, resize_bytes, NULL, false);
}

// readAll(fd) -> ArrayBuffer
static JSValue file_read_all(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  int fd;
  if (JS_ToInt32(ctx, &fd, argv[0])) return JS_EXCEPTION;
  struct stat s;
  size_t capacity = 65536, size = 0;
  if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_size > 0 && s.st_size < (1LL << 31)) capacity = (size_t)s.st_size + 1;
  uint8_t *bytes = malloc(capacity);
  while (bytes) {
    ssize_t count = read(fd, bytes + size, capacity - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      int error = errno;
      free(bytes);
      return JS_NewInt32(ctx, -error);
    }
    if (count == 0) return bytes_of(ctx, bytes, size);
    size += (size_t)count;
    if (size < capacity) continue;
    uint8_t *more = capacity < (1u << 30) ? realloc(bytes, capacity * 2) : NULL;
    if (!more) free(bytes);
    bytes = more;
    capacity *= 2;
  }
  return JS_ThrowOutOfMemory(ctx);
}

// read/write(fd, ArrayBuffer, offset, length, position or -1)
static JSValue file_transfer(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int writes)
{
  int fd;
  int64_t offset, length, position;
  size_t size;
  if (JS_ToInt32(ctx, &fd, argv[0])) return JS_EXCEPTION;
  uint8_t *bytes = JS_GetArrayBuffer(ctx, &size, argv[1]);
  if (!bytes && size) return JS_EXCEPTION;
  if (JS_ToInt64(ctx, &offset, argv[2]) || JS_ToInt64(ctx, &length, argv[3]) || JS_ToInt64(ctx, &position, argv[4])) return JS_EXCEPTION;
  if (offset < 0 || length < 0 || (uint64_t)offset > size || (uint64_t)length > size - (uint64_t)offset)
    return JS_ThrowRangeError(ctx, "the range is outside of the buffer");
  ssize_t count;
  do {
    if (writes) count = position < 0 ? write(fd, bytes + offset, length) : pwrite(fd, bytes + offset, length, position);
    else count = position < 0 ? read(fd, bytes + offset, length) : pread(fd, bytes + offset, length, position);
  } while (count < 0 && errno == EINTR);
  return result_of(ctx, count);
}

// utf8Encode(string) -> ArrayBuffer; utf8Decode(ArrayBuffer, offset, length) -> string, wrong bytes as U+FFFD
static JSValue utf8_encode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  size_t size;
  const char *text = JS_ToCStringLen(ctx, &size, argv[0]);
  if (!text) return JS_EXCEPTION;
  JSValue buffer = JS_NewArrayBufferCopy(ctx, (const uint8_t *)text, size);
  JS_FreeCString(ctx, text);
  return buffer;
}

static JSValue utf8_decode(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv)
{
  size_t size;
  int64_t offset, length;
  uint8_t *bytes = JS_GetArrayBuffer(ctx, &size, argv[0]);
  if (!bytes && size) return JS_EXCEPTION;
  if (JS_ToInt64(ctx, &offset, argv[1]) || JS_ToInt64(ctx, &length, argv[2])) return JS_EXCEPTION;
  if (offset < 0 || length < 0 || (uint64_t)offset > size || (uint64_t)length > size - (uint64_t)offset)
    return JS_ThrowRangeError(ctx, "the range is outside of the buffer");
  return text_of_bytes(ctx, bytes + offset, (size_t)length);
}

#define FILE_CALL(name, which) JS_CFUNC_MAGIC_DEF(name, 3, file_call, which)
static const JSCFunctionListEntry functions[] = {
  FILE_CALL("open", OPEN), FILE_CALL("mkdir", MKDIR), FILE_CALL("rmdir", RMDIR), FILE_CALL("unlink", UNLINK),
  FILE_CALL("rename", RENAME), FILE_CALL("link", LINK), FILE_CALL("symlink", SYMLINK), FILE_CALL("chmod", CHMOD),
  FILE_CALL("fchmod", FCHMOD), FILE_CALL("chown", CHOWN), FILE_CALL("lchown", LCHOWN), FILE_CALL("access", ACCESS),
  FILE_CALL("truncate", TRUNCATE), FILE_CALL("ftruncate", FTRUNCATE), FILE_CALL("fsync", FSYNC), FILE_CALL("close", CLOSE),
  JS_CFUNC_DEF("stat", 2, file_stat),
  JS_CFUNC_DEF("statfs", 1, file_statfs),
  JS_CFUNC_DEF("readdir", 1, file_readdir),
  JS_CFUNC_DEF("readlink", 1, file_readlink),
  JS_CFUNC_DEF("realpath", 1, file_realpath),
  JS_CFUNC_DEF("mkdtemp", 1, file_mkdtemp),
  JS_CFUNC_DEF("utimes", 4, file_utimes),
  JS_CFUNC_DEF("readAll", 1, file_read_all),
  JS_CFUNC_MAGIC_DEF("read", 5, file_transfer, 0),
  JS_CFUNC_MAGIC_DEF("write", 5, file_transfer, 1),
  JS_CFUNC_DEF("utf8Encode", 1, utf8_encode),
  JS_CFUNC_DEF("utf8Decode", 3, utf8_decode),
};

void add_file_functions(JSContext *ctx, JSValueConst native)
{
  JS_SetPropertyFunctionList(ctx, native, functions, sizeof functions / sizeof *functions);
}
