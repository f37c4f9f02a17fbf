// SPDX-License-Identifier: Apache-2.0
// A library for LD_PRELOAD, for tests alone: it stands between a program and the host, counts what
// the program asks of it, and fails the call that a test has chosen, once.
//
// The test and the program share a file (CLOCHE_FAULTS), which is a `Control`: faults.py writes
// which kind of call is to fail and how many calls of it come before, and reads what was counted.
// The failing call's stack goes to standard error, so that a crash afterwards has a cause.
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

namespace {

// As faults.py has them.
enum Kind : std::uint32_t {
  allocation,
  opening,
  writing,
  syncing,
  mapping,
  memory_file,
  thread,
  descriptor,
  renaming,
  reading
};
constexpr std::uint32_t kinds = 10;

struct Control {
  std::atomic<std::uint32_t> armed;  // a kind and 1; 0: nothing fails
  std::atomic<std::int32_t> error;   // the errno that it gets
  std::atomic<std::int64_t> before;  // calls of the kind that go well first
  std::atomic<std::uint64_t> failed;
  std::array<std::atomic<std::uint64_t>, kinds> calls;
};

Control* control = nullptr;

__attribute__((constructor)) void begin() {
  const char* const path = std::getenv("CLOCHE_FAULTS");
  if (path == nullptr) return;
  std::array<void*, 1> warm{};
  (void)backtrace(warm.data(), warm.size());  // loads what it needs now
  const int fd = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC));
  if (fd < 0) return;
  using Map = void* (*)(void*, std::size_t, int, int, int, off_t);
  const auto map = reinterpret_cast<Map>(::dlsym(RTLD_NEXT, "mmap"));
  void* const at = map(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (at != MAP_FAILED) control = static_cast<Control*>(at);
}

void say_where(std::string_view title) {
  constexpr std::size_t depth = 60;
  std::array<void*, depth> frames{};
  const int count = backtrace(frames.data(), depth);
  (void)::syscall(SYS_write, STDERR_FILENO, title.data(), title.size());
  backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

// Whether this call fails; errno is set then.
bool fails(Kind kind) {
  if (control == nullptr) return false;
  control->calls[kind].fetch_add(1, std::memory_order_relaxed);
  if (control->armed.load(std::memory_order_relaxed) != kind + 1U) return false;
  if (control->before.fetch_sub(1) != 0) return false;
  control->armed = 0;
  control->failed += 1;
  say_where("-- a call fails here:\n");
  errno = control->error;
  return true;
}

// The host does not refuse what wakes a thread (an eventfd): files, pipes and sockets are what fails.
// A line of the log that is lost is lost, and a test waits for it.
bool fails_to_write(int fd) {
  struct stat about{};
  return fd != STDERR_FILENO && ::fstat(fd, &about) == 0 && (about.st_mode & S_IFMT) != 0 &&
         fails(writing);
}

// Files alone: whoever waits for a pipe or a socket is told of its end, not of a disk's.
bool fails_to_read(int fd) {
  struct stat about{};
  return control != nullptr && ::fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && fails(reading);
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

void* allocate(std::size_t size, std::size_t alignment) {
  if (fails(allocation)) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  void* const memory = allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size, 1); }
void* operator new[](std::size_t size) { return allocate_or_throw(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size, 1); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

extern "C" {

#define PASSED_ON(name, condition, result, failure, parameters, arguments) \
  result name parameters {                                                 \
    using Function = result(*) parameters;                                 \
    static const auto real = next<Function>(#name);                        \
    return (condition) ? (failure) : real arguments;                       \
  }

PASSED_ON(write, fails_to_write(fd), ssize_t, -1, (int fd, const void* bytes, std::size_t size),
          (fd, bytes, size))
PASSED_ON(pwrite, fails_to_write(fd), ssize_t, -1,
          (int fd, const void* bytes, std::size_t size, off_t at), (fd, bytes, size, at))
PASSED_ON(pwrite64, fails_to_write(fd), ssize_t, -1,
          (int fd, const void* bytes, std::size_t size, off_t at), (fd, bytes, size, at))
PASSED_ON(writev, fails_to_write(fd), ssize_t, -1, (int fd, const iovec* pieces, int count),
          (fd, pieces, count))
PASSED_ON(pwritev, fails_to_write(fd), ssize_t, -1,
          (int fd, const iovec* pieces, int count, off_t at), (fd, pieces, count, at))
PASSED_ON(fsync, fails(syncing), int, -1, (int fd), (fd))
PASSED_ON(fdatasync, fails(syncing), int, -1, (int fd), (fd))
PASSED_ON(syncfs, fails(syncing), int, -1, (int fd), (fd))
PASSED_ON(mmap, fails(mapping), void*, MAP_FAILED,
          (void* at, std::size_t size, int protection, int flags, int fd, off_t offset),
          (at, size, protection, flags, fd, offset))
PASSED_ON(mmap64, fails(mapping), void*, MAP_FAILED,
          (void* at, std::size_t size, int protection, int flags, int fd, off_t offset),
          (at, size, protection, flags, fd, offset))
PASSED_ON(memfd_create, fails(memory_file), int, -1, (const char* name, unsigned flags),
          (name, flags))
PASSED_ON(pipe2, fails(descriptor), int, -1, (int* ends, int flags), (ends, flags))
PASSED_ON(socketpair, fails(descriptor), int, -1, (int domain, int type, int protocol, int* ends),
          (domain, type, protocol, ends))
PASSED_ON(eventfd, fails(descriptor), int, -1, (unsigned count, int flags), (count, flags))
PASSED_ON(socket, fails(descriptor), int, -1, (int domain, int type, int protocol),
          (domain, type, protocol))
PASSED_ON(signalfd, fails(descriptor), int, -1, (int fd, const sigset_t* signals, int flags),
          (fd, signals, flags))
PASSED_ON(inotify_init1, fails(descriptor), int, -1, (int flags), (flags))
PASSED_ON(epoll_create1, fails(descriptor), int, -1, (int flags), (flags))
PASSED_ON(accept4, fails(descriptor), int, -1, (int fd, sockaddr* peer, socklen_t* size, int flags),
          (fd, peer, size, flags))
PASSED_ON(linkat, fails(renaming), int, -1,
          (int from_folder, const char* from, int folder, const char* to, int flags),
          (from_folder, from, folder, to, flags))
PASSED_ON(rename, fails(renaming), int, -1, (const char* from, const char* to), (from, to))
PASSED_ON(ftruncate, fails(renaming), int, -1, (int fd, off_t size), (fd, size))
PASSED_ON(ftruncate64, fails(renaming), int, -1, (int fd, off_t size), (fd, size))

PASSED_ON(read, fails_to_read(fd), ssize_t, -1, (int fd, void* bytes, std::size_t size),
          (fd, bytes, size))
PASSED_ON(pread, fails_to_read(fd), ssize_t, -1, (int fd, void* bytes, std::size_t size, off_t at),
          (fd, bytes, size, at))
PASSED_ON(pread64, fails_to_read(fd), ssize_t, -1,
          (int fd, void* bytes, std::size_t size, off_t at), (fd, bytes, size, at))
PASSED_ON(preadv, fails_to_read(fd), ssize_t, -1,
          (int fd, const iovec* pieces, int count, off_t at), (fd, pieces, count, at))

#undef PASSED_ON

#define DUPLICATES(name)                                                    \
  int name(int fd, int what, ...) {                                         \
    using Function = int (*)(int, int, ...);                                \
    static const auto real = next<Function>(#name);                         \
    va_list arguments;                                                      \
    va_start(arguments, what);                                              \
    void* const argument = va_arg(arguments, void*);                        \
    va_end(arguments);                                                      \
    const bool duplicates = what == F_DUPFD || what == F_DUPFD_CLOEXEC;     \
    return duplicates && fails(descriptor) ? -1 : real(fd, what, argument); \
  }
DUPLICATES(fcntl)
DUPLICATES(fcntl64)
#undef DUPLICATES

int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*body)(void*),
                   void* argument) noexcept {
  using Function = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto real = next<Function>("pthread_create");
  return fails(thread) ? EAGAIN : real(made, attributes, body, argument);
}

int accept(int fd, sockaddr* peer, socklen_t* size) {
  using Function = int (*)(int, sockaddr*, socklen_t*);
  static const auto real = next<Function>("accept");
  return fails(descriptor) ? -1 : real(fd, peer, size);
}

#define OPENS(name)                                       \
  int name(const char* path, int flags, ...) {            \
    using Function = int (*)(const char*, int, ...);      \
    static const auto real = next<Function>(#name);       \
    va_list arguments;                                    \
    va_start(arguments, flags);                           \
    const mode_t mode = mode_of(flags, arguments);        \
    va_end(arguments);                                    \
    return fails(opening) ? -1 : real(path, flags, mode); \
  }
#define OPENS_AT(name)                                            \
  int name(int folder, const char* path, int flags, ...) {        \
    using Function = int (*)(int, const char*, int, ...);         \
    static const auto real = next<Function>(#name);               \
    va_list arguments;                                            \
    va_start(arguments, flags);                                   \
    const mode_t mode = mode_of(flags, arguments);                \
    va_end(arguments);                                            \
    return fails(opening) ? -1 : real(folder, path, flags, mode); \
  }
OPENS(open)
OPENS(open64)
OPENS_AT(openat)
OPENS_AT(openat64)
int __open_2(const char* path, int flags) { return open(path, flags); }
int __openat_2(int folder, const char* path, int flags) { return openat(folder, path, flags); }
int __open64_2(const char* path, int flags) { return open(path, flags); }
int __openat64_2(int folder, const char* path, int flags) { return openat(folder, path, flags); }
#undef OPENS
#undef OPENS_AT

}  // extern "C"
