// SPDX-License-Identifier: Apache-2.0
// Spaces: the user and network namespaces that boxes stand in, and that outlive them. To make a
// network and to take it down costs more than all else of a box, so that another box may have that
// of one which has ended: where it is as it was on its first day (network_trace.h). Of its users a
// guest can change nothing. No two boxes have one at the same time, and one that may have been
// given away is given to nobody: a box with folders of the host could do that, through a socket
// there.
//
// They are lent to who is the same user inside. At most `most_resting` wait for a box.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "native/warden/fd.h"
#include "native/warden/network_trace.h"
#include "native/warden/outcome.h"
#include "native/warden/wire.h"

namespace cloche::warden {

class Spaces {
 public:
  static constexpr std::size_t most_resting = 8;

  Spaces() noexcept;
  Spaces(const Spaces&) = delete;
  Spaces& operator=(const Spaces&) = delete;

  struct Started {
    pid_t pid = 0;  // 0: none, and why
    Fd pidfd;
    Outcome outcome;
  };
  // A process in spaces for `plan`, and in the other namespaces of a box, which are its own: it
  // begins with `be`, which does not return, in the control group `group`, -1: this process's.
  template <typename Be>
  Started start(const MakeBox& plan, int group, Be&& be) noexcept {
    return start(
        plan, group, [](void* what) { (*static_cast<std::remove_reference_t<Be>*>(what))(); },
        static_cast<void*>(&be));
  }

  // That process has ended, and with it all of its box.
  void end(pid_t pid) noexcept;

 private:
  static constexpr std::size_t most_known = 64;  // with those that boxes have

  struct Place {
    Fd user, network;  // none: the place is free
    std::uint32_t inner_user = 0, inner_group = 0;
    pid_t pid = 0;             // of the box; 0: they rest
    std::uint64_t number = 0;  // the longest at rest has the lowest
  };
  // What the process between this one and a box tells. It has this one's descriptors.
  struct Told {
    pid_t pid = 0;
    int pidfd = -1, user = -1, network = -1;
    bool has_changed = false;
    Outcome outcome;
    NetworkTrace first_day;  // of a network that was new
    NetworkTrace today;      // of the one that is lent
  };
  using Begin = void (*)(void* what);

  Started start(const MakeBox& plan, int group, Begin begin, void* what) noexcept;
  bool try_start(const MakeBox& plan, int group, const Place& place, bool is_kept, Begin begin,
                 void* what) noexcept;
  // In the process between.
  void stand_in(const Place& place) noexcept;
  void stand_in_new(const MakeBox& plan, bool is_kept) noexcept;
  void leave_unless(bool is_well, Step step) noexcept;

  Place* longest_at_rest(const MakeBox& plan) noexcept;
  Place* free_place() noexcept;
  bool forget_resting() noexcept;

  std::array<Place, most_known> places_;
  Told* told_ = nullptr;  // shared with the process between; null: there is no memory
  std::uint64_t ended_ = 0;
};

}  // namespace cloche::warden
