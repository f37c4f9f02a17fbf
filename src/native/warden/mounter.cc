// SPDX-License-Identifier: Apache-2.0
#include "native/warden/mounter.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "native/warden/gate.h"
#include "native/warden/identity.h"
#include "native/warden/mounts.h"
#include "native/warden/packet.h"

namespace cloche::warden {
namespace {

bool write_map(pid_t pid, const char* name, unsigned from) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "/proc/%d/%s", static_cast<int>(pid), name);
  const Fd file(::open(text.data(), O_WRONLY | O_CLOEXEC));
  std::snprintf(text.data(), text.size(), "%u %u 1", from, box_user);
  const auto size = static_cast<ssize_t>(std::strlen(text.data()));
  return file && ::write(file.get(), text.data(), static_cast<std::size_t>(size)) == size;
}

// A user namespace in which one user is the box's: it lives as long as the descriptor.
Fd map_owner(const struct stat& of) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  Fd reader(ends[0]), writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    const bool is_apart = ::unshare(CLONE_NEWUSER) == 0;
    (void)!::write(writer.get(), is_apart ? "+" : "-", 1);
    ::pause();
    ::_exit(0);
  }
  writer.reset();
  Fd users;
  char said = '-';
  if (pid > 0 && ::read(reader.get(), &said, 1) == 1 && said == '+' &&
      write_map(pid, "uid_map", of.st_uid) && write_map(pid, "gid_map", of.st_gid)) {
    std::array<char, 64> path{};
    std::snprintf(path.data(), path.size(), "/proc/%d/ns/user", static_cast<int>(pid));
    users.reset(::open(path.data(), O_RDONLY | O_CLOEXEC));
  }
  const int problem = errno;
  if (pid > 0) {
    (void)::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) continue;
  }
  errno = problem;
  return users;
}

int make_tree(int source, bool is_read_only, Fd& tree) {
  struct stat of{};
  if (::fstat(source, &of) != 0) return errno;
  if (!is_mountable(of.st_mode)) return EINVAL;
  if (!gate().lets_mount(of, is_read_only)) return ESTALE;
  const Fd users = map_owner(of);
  if (!users) return errno;
  tree.reset(
      ::open_tree(source, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE));
  if (!tree || confine_tree(tree, is_read_only, users.get()) != 0) return errno;
  return 0;
}

[[noreturn]] void serve_mounts(int socket) noexcept {
  for (;;) {
    Packet packet;
    MountAsk ask;
    if (!receive_record(socket, ask, packet)) ::_exit(0);
    const Fd source(packet.take_fd(0));
    Fd tree;
    const MountMade made{.error = make_tree(source.get(), ask.is_read_only, tree)};
    const int beside = tree.get();
    if (!send_record(socket, made, std::span(&beside, made.error == 0 ? 1 : 0))) ::_exit(0);
  }
}

}  // namespace

pid_t start_mounter(int socket) noexcept {
  Fd own(socket);
  if (::fcntl(own.get(), F_GETFD) < 0) return 0;
  const pid_t pid = ::fork();
  if (pid == 0) {
    (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    ::close(socket_fd);
    serve_mounts(own.get());
  }
  return pid;
}

}  // namespace cloche::warden
