// SPDX-License-Identifier: Apache-2.0
#include "native/warden/warden.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>

#include "native/warden/box.h"
#include "native/warden/gate.h"
#include "native/warden/groups.h"
#include "native/warden/identity.h"
#include "native/warden/large_files.h"
#include "native/warden/mounter.h"
#include "native/warden/packet.h"
#include "native/warden/score.h"
#include "native/warden/spaces.h"

namespace cloche::warden {
namespace {

// The descriptors that guests send to each other count for all of one user of the machine, and so
// do those beside this answer: where that is too much, it alone fails.
template <typename Made>
bool tell(int socket, Made made, std::span<const int> beside) {
  if (send_record(socket, made, beside)) return true;
  if (errno != ETOOMANYREFS) return false;
  note_undelivered(made, ETOOMANYREFS);
  return send_record(socket, made);
}

bool answer_box(int socket, MakeBox& plan, Packet& packet, Spaces& spaces, Groups& groups) {
  std::size_t next = 0;
  const auto take = [&] { return Fd(packet.take_fd(next++)); };
  BoxParts parts;
  parts.socket = take();
  parts.image = take();
  if (plan.has_upper) parts.begin_with = take();
  const bool has_gvisor = plan.isolation == Isolation::gvisor;
  if (has_gvisor) parts.runsc = take();
  parts.mounts.count = std::min<std::uint32_t>(plan.mounts, most_mounts);
  if (plan.mounts > 0) parts.mounts.orders = take();
  for (Fd& tree : parts.mounts.trees) tree = take();
  BoxMade made;
  Fd pidfd;
  plan.home[sizeof plan.home - 1] = '\0';
  if (plan.version != protocol_version || !parts.socket || !parts.image ||
      plan.has_upper != static_cast<bool>(parts.begin_with) || plan.mounts > most_mounts ||
      has_gvisor != static_cast<bool>(parts.runsc) ||
      (plan.mounts > 0) != static_cast<bool>(parts.mounts.orders)) {
    made.failed = Step::namespaces;
    made.error = EINVAL;
  } else if (!gate().lets_image(parts.image.get()) ||
             (parts.begin_with && !gate().lets_begin_with(parts.begin_with.get())) ||
             (parts.runsc && !gate().lets_run(parts.runsc.get()))) {
    made.failed = Step::overlay;
    made.error = EACCES;
  } else {
    Spaces::Started started = make_box(plan, std::move(parts), spaces, groups);
    made.failed = started.outcome.failed;
    made.error = started.outcome.error;
    pidfd = std::move(started.pidfd);
  }
  const int beside = pidfd.get();
  return tell(socket, made, std::span(&beside, beside >= 0 ? 1 : 0));
}

bool answer_file(int socket, const MakeFile& order, LargeFiles& files) {
  const LargeFiles::Made made =
      order.version == protocol_version ? files.make() : LargeFiles::Made{.error = EINVAL};
  const std::array beside{made.writable.get(), made.readable.get()};
  return tell(socket, FileMade{made.error},
              std::span(beside).first(made.error == 0 ? beside.size() : 0));
}

bool take_orders(int socket, Spaces& spaces, Groups& groups, LargeFiles& files) {
  Packet packet;
  alignas(MakeBox) std::array<std::byte, sizeof(MakeBox)> record;
  const long got = receive(socket, record, packet);
  if (got == sizeof(MakeFile)) {
    MakeFile order;
    std::memcpy(&order, record.data(), sizeof order);
    return answer_file(socket, order, files);
  }
  if (got != sizeof(MakeBox)) return got < 0 && errno == EMSGSIZE;
  MakeBox plan;
  std::memcpy(&plan, record.data(), sizeof plan);
  return answer_box(socket, plan, packet, spaces, groups);
}

// False: it was the mounter, without which there are no boxes with folders of the host, and which
// only root could begin anew.
bool bury(int signals, pid_t mounter, Spaces& spaces, Groups& groups) {
  signalfd_siginfo info{};
  while (::read(signals, &info, sizeof info) > 0) continue;
  for (pid_t pid = ::waitpid(-1, nullptr, WNOHANG); pid > 0;
       pid = ::waitpid(-1, nullptr, WNOHANG)) {
    if (pid == mounter) return false;
    spaces.end(pid);
    groups.end(pid);
  }
  return true;
}

// For this process, and what it starts. Guests may have as many descriptors on their way as each may
// have open, and this process and pid 1 of each box have to be able to give one beside all those;
// gVisor has one for each that a guest has of the image.
void take_all_descriptors() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int serve_boxes(int socket, const char* group_folder, pid_t program) noexcept {
  take_all_descriptors();
  set_score(Fd(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)), score_of_warden);
  const pid_t mounter = ::geteuid() == 0 ? start_mounter(mounter_fd) : 0;
  if (mounter < 0) return 1;
  static Groups groups;
  groups.begin(group_folder, program);
  if (!become_nobody()) return 1;
  sigset_t child{};
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  const Fd signals(::signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals) return 1;
  static Spaces spaces;
  static LargeFiles files;
  for (;;) {
    std::array<pollfd, 2> waiting{{{socket, POLLIN, 0}, {signals.get(), POLLIN, 0}}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return 1;
    if (waiting[1].revents != 0 && !bury(signals.get(), mounter, spaces, groups)) return 1;
    if (waiting[0].revents != 0 && !take_orders(socket, spaces, groups, files)) return 0;
  }
}

}  // namespace cloche::warden
