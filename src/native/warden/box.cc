// SPDX-License-Identifier: Apache-2.0
#include "native/warden/box.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "native/warden/home.h"
#include "native/warden/init.h"
#include "native/warden/keeper.h"
#include "native/warden/packet.h"
#include "native/warden/root.h"
#include "native/warden/score.h"

namespace cloche::warden {
namespace {

// Nothing is open in a box but what it is made of.
bool keep_only(BoxParts& parts) {
  constexpr int first = 3;
  std::array<Fd*, 5 + BoxGroup::file_count + most_mounts> kept{
      &parts.socket, &parts.image, &parts.begin_with, &parts.runsc, &parts.mounts.orders};
  std::size_t count = 5;
  for (Fd& file : parts.group.files()) kept[count++] = &file;
  for (Fd& tree : parts.mounts.trees) kept[count++] = &tree;
  for (Fd* fd : kept) {  // away from the numbers that they get
    if (!*fd) continue;
    const int away = copy_away(fd->get(), first + static_cast<int>(kept.size()));
    if (away < 0) return false;
    fd->reset(away);
  }
  int next = first;
  for (Fd* fd : kept) {
    if (!*fd) continue;
    if (::dup3(fd->get(), next, O_CLOEXEC) < 0) return false;
    fd->reset(next++);
  }
  return ::close_range(static_cast<unsigned>(next), ~0U, 0) == 0;
}

Outcome take_parts(BoxParts& parts) {
  if (!keep_only(parts)) return {Step::limits, errno};
  // Of this mount namespace: the working directory came along, a descriptor does not.
  parts.image.reset(::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return outcome_of(Step::overlay, parts.image.get());
}

Outcome build(const MakeBox& plan, BoxParts& parts, NewRoot& made, std::uint32_t& mount) {
  if (auto taken = take_parts(parts); !taken) return taken;
  const RootPlan root{.image = parts.image.get(),
                      .begin_with = parts.begin_with.get(),
                      .kind = plan.root,
                      .file_bytes = plan.file_bytes,
                      .file_inodes = plan.file_inodes};
  ::umask(0);
  if (auto found = find_mounts(parts.mounts, mount); !found) return found;
  if (auto entered = enter_root(root, made); !entered) return entered;
  ::umask(022);
  if (auto placed = place_mounts(parts.mounts, mount); !placed) return placed;
  parts.image.reset();
  parts.begin_with.reset();
  return outcome_of(
      Step::namespaces,
      ::sethostname(plan.host_name, ::strnlen(plan.host_name, sizeof plan.host_name)));
}

// Later this file is not this user's.
Fd open_score() { return Fd(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC)); }

[[noreturn]] void be_keeper(const MakeBox& plan, BoxParts parts) noexcept {
  if (const Outcome taken = take_parts(parts); !taken) {
    (void)send_record(parts.socket.get(), BoxReady{.failed = taken.failed, .error = taken.error});
    ::_exit(1);
  }
  set_score(open_score(), score_of_guests);
  keep_gvisor(plan, {.socket = std::move(parts.socket),
                     .image = std::move(parts.image),
                     .runsc = std::move(parts.runsc),
                     .group = std::move(parts.group)});
}

[[noreturn]] void be_box(const MakeBox& plan, BoxParts parts, std::uint32_t group_has,
                         const Filter& filter) noexcept {
  // With the warden, at the latest; and when the socket is closed.
  (void)::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (plan.isolation == Isolation::gvisor) be_keeper(plan, std::move(parts));
  NewRoot root;
  Fd score;
  BoxReady ready{.controllers = group_has};
  const Outcome built = build(plan, parts, root, ready.mount);
  BoxGroup group = std::move(parts.group);
  ready.failed = built.failed;
  ready.error = built.error;
  if (built) {
    ready.home = make_home(plan.home);
    score = open_score();
    set_score(score, score_of_boxes);
    // What the guest may not look into is this process, which keeps privileges of its namespaces.
    if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
      ready.failed = Step::privileges, ready.error = errno;
    ready.has_landlock_scopes = enter_landlock();
    if (!plan.settles_later && !group.limit({.memory_bytes = plan.memory_bytes,
                                             .processes = plan.process_limit + own_processes,
                                             .cpus = plan.cpus}))
      ready.failed = Step::groups, ready.error = errno;
  }
  if (!send_record(parts.socket.get(), ready) || ready.failed != Step::none) ::_exit(1);
  static Init init({.socket = std::move(parts.socket),
                    .group = std::move(group),
                    .changes = std::move(root.changes),
                    .storage = plan.settles_later ? std::move(root.storage) : Fd(),
                    .score = std::move(score),
                    .memory_bytes = plan.memory_bytes,
                    .wall = {.processes = plan.process_limit + own_processes,
                             .open_files = plan.open_file_limit,
                             .keeps_set_id = plan.keeps_set_id}},
                   filter);
  init.serve();
  ::_exit(0);
}

}  // namespace

Spaces::Started make_box(const MakeBox& plan, BoxParts parts, Spaces& spaces,
                         Groups& groups) noexcept {
  static const Filter filter;  // the same for all
  if (::fchdir(parts.image.get()) != 0) return {.pidfd = Fd(), .outcome = {Step::overlay, errno}};
  if (groups.error() != 0) return {.pidfd = Fd(), .outcome = {Step::groups, groups.error()}};
  const Fd group = groups.make();
  if (groups.have() != 0 && !group) return {.pidfd = Fd(), .outcome = {Step::groups, errno}};
  if (group) parts.group = BoxGroup(group);
  Spaces::Started made = spaces.start(
      plan, group.get(), [&] { be_box(plan, std::move(parts), groups.have(), filter); });
  groups.give(made.pid);
  (void)!::chdir("/");
  return made;
}

}  // namespace cloche::warden
