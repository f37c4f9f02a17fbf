// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "native/host/warden.h"

namespace cloche::native {
namespace {

using warden::Step;

struct StepText {
  const char* step;
  const char* remedy;
};

constexpr const char* container_remedy =
    "in a container, start it with a filter and an AppArmor profile that let unshare, mount and "
    "pivot_root pass (--security-opt seccomp=unconfined --security-opt apparmor=unconfined), or "
    "use the wasm engine";

constexpr const char* descriptors_remedy = "raise the limit of descriptors (ulimit -n)";

StepText text_of(Step step, int error) {
  if (error == EMFILE || error == ENFILE) return {"opening its files", descriptors_remedy};
  switch (step) {
    case Step::namespaces:
      if (error == ENOSPC || error == EUSERS)
        return {"making its namespaces", "raise user.max_user_namespaces by sysctl"};
      if (error == EAGAIN || error == ENOMEM)
        return {"making its namespaces", "fewer sandboxes at once, or higher limits of processes"};
      return {"making its namespaces",
              "allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, and "
              "kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu), or use the wasm engine"};
    case Step::identity:
      return {"mapping its user",
              "allow unprivileged user namespaces (on Ubuntu sysctl "
              "kernel.apparmor_restrict_unprivileged_userns=0), or use the wasm engine"};
    case Step::storage: return {"making its files in memory", "give it more bytes and inodes"};
    case Step::copy:
      if (error == ENAMETOOLONG)
        return {"copying the files that it begins with", "have no folders as deep as that"};
      return {"copying the files that it begins with", "give it more bytes and inodes"};
    case Step::overlay:
      return {"putting its changes over the image",
              "Linux 5.11 or later, and a store of images on a file system that overlays take"};
    case Step::proc:
      return {"mounting its /proc",
              "where this is a container with a masked /proc, start it with --security-opt "
              "systempaths=unconfined, or use the wasm engine"};
    case Step::propagation:
    case Step::devices:
    case Step::pivot: return {"mounting its files", container_remedy};
    case Step::loopback: return {"raising its loopback", container_remedy};
    case Step::network:
      return {"giving it a network",
              "Linux 5.14 or later, no other filter of system calls that asks a program "
              "(SECCOMP_RET_USER_NOTIF), or leave the network rules out"};
    case Step::limits:
      if (error == ETOOMANYREFS) return {"handing over its descriptors", descriptors_remedy};
      return {"setting its limits", "raise the limits of this process"};
    case Step::landlock:
    case Step::privileges:
    case Step::filter: return {"putting up its wall", container_remedy};
    case Step::terminal: return {"making its terminal", "fewer terminals at once"};
    case Step::directory: return {"entering the folder", "name one that is there"};
    case Step::program: return {"starting the program", "name one that is there"};
    case Step::groups:
      return {
          "giving it a control group",
          "name by CLOCHE_CGROUP a folder of control groups (version 2) that this user may write "
          "to, with controllers and without processes, or do without it"};
    case Step::mounts: return {"mounting a folder", "name one that is there"};
    case Step::gvisor: return {"starting gVisor", container_remedy};
    case Step::none: break;
  }
  return {"making it", container_remedy};
}

}  // namespace

std::string explain(Step step, int error) {
  const StepText text = text_of(step, error);
  return fmt::format("a linux sandbox cannot be made here: {} failed ({}); {}", text.step,
                     std::strerror(error), text.remedy);
}

// It is a program of others that says it: as it is, in one line.
std::string explain_gvisor(const warden::BoxReady& ready) {
  std::string said(ready.detail, ::strnlen(ready.detail, sizeof ready.detail));
  std::ranges::replace_if(said, [](unsigned char one) { return one < ' ' || one >= 0x7f; }, ' ');
  if (said.empty()) return explain(ready.failed, ready.error != 0 ? ready.error : ECHILD);
  return fmt::format(
      "a linux sandbox behind gVisor cannot be made here: runsc ended before it was ready ({}); "
      "let this process make user namespaces, trace its children and filter their calls, take a "
      "newer runsc, or choose isolation=full",
      said);
}

}  // namespace cloche::native
