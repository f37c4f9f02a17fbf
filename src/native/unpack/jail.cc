// SPDX-License-Identifier: Apache-2.0
#include "native/unpack/jail.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "native/warden/fd.h"
#include "native/warden/identity.h"
#include "native/warden/wall.h"

namespace cloche::unpack {
namespace {

constexpr rlim_t most_memory = 2ULL << 30;  // of a decompressor with a large window
constexpr rlim_t most_seconds = 3600;
constexpr std::uint32_t most_open_files = 4096;  // one a folder on the way down

bool write_text(const char* path, const char* text) {
  const warden::Fd file(::open(path, O_WRONLY | O_CLOEXEC));
  const auto size = static_cast<ssize_t>(std::strlen(text));
  return file && ::write(file.get(), text, static_cast<std::size_t>(size)) == size;
}

bool map_ids(uid_t user, gid_t group) {
  std::array<char, 64> line{};
  if (!write_text("/proc/self/setgroups", "deny")) return false;
  std::snprintf(line.data(), line.size(), "0 %u 1", user);
  if (!write_text("/proc/self/uid_map", line.data())) return false;
  std::snprintf(line.data(), line.size(), "0 %u 1", group);
  return write_text("/proc/self/gid_map", line.data());
}

bool limit(__rlimit_resource what, rlim_t most) {
  const rlimit both{most, most};
  return ::setrlimit(what, &both) == 0;
}

}  // namespace

const char* enter_folder(int folder, std::uint64_t most_bytes) {
  if (!warden::become_nobody()) return "it stays root";
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0) return "its parent is unknown";
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS) != 0)
    return "it has no namespaces of its own";
  if (!map_ids(user, group)) return "its user cannot be mapped";
  if (::fchdir(folder) != 0 || ::chroot(".") != 0 || ::chdir("/") != 0)
    return "the folder cannot be its root";
  ::close(folder);
  ::umask(0);
  if (!limit(RLIMIT_FSIZE, most_bytes) || !limit(RLIMIT_CPU, most_seconds) ||
      !limit(RLIMIT_AS, most_memory))
    return "it has no limits";
  const warden::Outcome walled =
      warden::enter_wall({.processes = 1, .open_files = most_open_files}, warden::Filter());
  errno = walled.error;
  return walled ? nullptr : "it has no wall";
}

}  // namespace cloche::unpack
