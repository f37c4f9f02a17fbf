/* How SQLite locks a file. The interpreter's has a folder beside the file for that, which one connection has at a time, whatever it does,
 * and which no other program looks at. Here it has locks of the open file, on the bytes that SQLite has them on everywhere: several read at
 * a time, also beside one that has begun to write. extensions_patch.py has the interpreter call what is here. */
#include <Python.h>

enum { CALL_FCNTL = 25, GET_LOCK = 36, SET_LOCK = 37, LINUX_BADF = 9, LINUX_AGAIN = 11, LINUX_ACCES = 13 };
enum { READ_LOCK, WRITE_LOCK, NO_LOCK };
enum { NONE, SHARED, RESERVED, PENDING, EXCLUSIVE };
enum { OK = 0, BUSY = 5, ERROR_UNLOCK = 2058, ERROR_READ_LOCK = 2314, ERROR_LOCK = 3850, ERROR_RESERVED = 3594 };
enum { PENDING_BYTE = 0x40000000, RESERVED_BYTE, SHARED_BYTES, SHARED_COUNT = 510 };

int host_door_call(const void *request, size_t length, void *answer, void *answer_length);

/* The beginning of SQLite's unixFile. */
typedef struct {
  void *methods, *system, *inode;
  int fd;
  unsigned char level;
} File;

typedef struct {
  short type, whence;
  int64_t start, length;
  int process;
} Lock;

static int64_t call(const File *file, int command, Lock *lock) {
  struct {
    char magic[4];
    uint32_t number, marks, words[6];
  } frame = {"sys0", CALL_FCNTL, 0, {file->fd, command, (uint32_t)(uintptr_t)lock}};
  uint32_t answer = 0, length = 0;
  if (host_door_call(&frame, sizeof frame, &answer, &length) != 0) return -1;
  int64_t result;
  memcpy(&result, &frame, sizeof result);
  return result;
}

/* A file that is open to be read only has locks for reading, which keep out who would write. */
static int take(const File *file, int type, int64_t start, int64_t length) {
  Lock lock = {type, 0, start, length, 0};
  int64_t result = call(file, SET_LOCK, &lock);
  if (result == -LINUX_BADF && type == WRITE_LOCK) {
    lock.type = READ_LOCK;
    result = call(file, SET_LOCK, &lock);
  }
  return result >= 0 ? OK : result == -LINUX_AGAIN || result == -LINUX_ACCES ? BUSY : ERROR_LOCK;
}

int cloche_database_lock(File *file, int level) {
  int result = OK;
  if (file->level >= level) return OK;
  if (level == SHARED) {
    result = take(file, READ_LOCK, PENDING_BYTE, 1);
    if (result != OK) return result;
    result = take(file, READ_LOCK, SHARED_BYTES, SHARED_COUNT);
    if (take(file, NO_LOCK, PENDING_BYTE, 1) != OK && result == OK) result = ERROR_UNLOCK;
  } else if (level == RESERVED) {
    result = take(file, WRITE_LOCK, RESERVED_BYTE, 1);
  } else {
    if (file->level < PENDING) {
      result = take(file, WRITE_LOCK, PENDING_BYTE, 1);
      if (result != OK) return result;
      file->level = PENDING;
    }
    if (level == EXCLUSIVE) result = take(file, WRITE_LOCK, SHARED_BYTES, SHARED_COUNT);
  }
  if (result == OK) file->level = level;
  return result;
}

int cloche_database_unlock(File *file, int level) {
  if (file->level <= level) return OK;
  if (level == SHARED) {
    if (take(file, READ_LOCK, SHARED_BYTES, SHARED_COUNT) != OK) return ERROR_READ_LOCK;
    if (take(file, NO_LOCK, PENDING_BYTE, 2) != OK) return ERROR_UNLOCK;
  } else if (take(file, NO_LOCK, 0, 0) != OK) {
    return ERROR_UNLOCK;
  }
  file->level = level;
  return OK;
}

int cloche_database_reserved(File *file, int *is_reserved) {
  Lock lock = {WRITE_LOCK, 0, RESERVED_BYTE, 1, 0};
  *is_reserved = file->level > SHARED;
  if (*is_reserved) return OK;
  if (call(file, GET_LOCK, &lock) < 0) return ERROR_RESERVED;
  *is_reserved = lock.type != NO_LOCK;
  return OK;
}
