// SPDX-License-Identifier: Apache-2.0
#include "native/warden/large_files.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <span>

#include "native/warden/identity.h"
#include "native/warden/mount_calls.h"
#include "native/warden/packet.h"

namespace cloche::warden {
namespace {

// Of a file for as long as it takes to open it twice. Processes that map it see this.
constexpr const char* own_name = "cloche";

struct Doors {
  std::int32_t error = 0;
};

// In namespaces of its own, which end with the process that does this: the doors do not.
int open_doors(Fd& writable, Fd& readable) noexcept {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER) != 0 || !map_identity(0, 0, user, group) ||
      ::unshare(CLONE_NEWNS) != 0)
    return errno;
  // Code that a process has changed is executed from there.
  constexpr unsigned attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
  const Fd mount(make_mount(
      "tmpfs", {{"huge", "within_size"}, {"size", "0"}, {"nr_inodes", "0"}, {"mode", "0700"}},
      attributes));
  if (!mount || put_at(mount, "/") != 0) return errno;  // only what is mounted can be had twice
  constexpr unsigned how = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH;
  writable.reset(::open_tree(mount.get(), "", how));
  if (!writable) return errno;
  readable.reset(::open_tree(mount.get(), "", how));
  return readable && protect(readable, MOUNT_ATTR_RDONLY) == 0 ? 0 : errno;
}

[[noreturn]] void tell_doors(int socket) noexcept {
  Fd writable, readable;
  const Doors doors{open_doors(writable, readable)};
  const std::array beside{writable.get(), readable.get()};
  (void)send_record(socket, doors, std::span(beside).first(doors.error == 0 ? beside.size() : 0));
  ::_exit(0);
}

}  // namespace

int LargeFiles::begin() noexcept {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) return errno;
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return errno;
  if (child == 0) tell_doors(theirs.get());
  theirs.reset();
  Packet packet;
  Doors doors;
  const bool is_told = receive_record(ours.get(), doors, packet);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
  if (!is_told) return EIO;
  if (doors.error != 0) return doors.error;
  writable_.reset(packet.take_fd(0));
  readable_.reset(packet.take_fd(1));
  return writable_ && readable_ ? 0 : EIO;
}

LargeFiles::Made LargeFiles::make() noexcept {
  if (!has_begun_) error_ = begin();
  has_begun_ = true;
  Made made;
  made.error = error_;
  if (error_ != 0) return made;
  made.writable.reset(::openat(writable_.get(), own_name,
                               O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!made.writable) {
    made.error = errno;
    return made;
  }
  made.readable.reset(::openat(readable_.get(), own_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!made.readable) made.error = errno;
  (void)::unlinkat(writable_.get(), own_name, 0);
  return made;
}

}  // namespace cloche::warden
